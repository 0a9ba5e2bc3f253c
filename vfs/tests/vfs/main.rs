//! What tools are answered, wherever the files are.

mod both;
mod disk;
mod methods;
mod network;
mod people;
mod programs;
mod session;
