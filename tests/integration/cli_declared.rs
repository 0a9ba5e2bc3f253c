//! Rules about files, hosts or variables restrict that kind alone.

use crate::run::{Run, have, skip};
use crate::runs_net::Server;
use crate::scratch::Scratch;

// conformance: 076-11, 076-12, 076-13, 076-14, 076-15, 076-16
#[test]
fn rules_of_one_kind_leave_the_others_alone() {
    if !have("bash") {
        return skip("bash connects by itself");
    }
    let server = Server::start();
    let script = server.text(
        "echo x > new && echo file; (exec 3<>/dev/tcp/127.0.0.1/PORT) && echo host; echo $GIVEN",
    );
    for (rules, expected) in [
        ("", "file\nhost\ngiven\n"),
        ("fs = [{path = '.', read = true, execute = true}]\n", "host\ngiven\n"),
        ("net = [{host = 'a.test', allow = true}]\n", "file\ngiven\n"),
        ("env = [{name = 'OTHER', read = true}]\n", "file\nhost\n\n"),
        ("fs = []\nnet = []\nenv = []\n", "file\nhost\ngiven\n"),
    ] {
        let scratch = Scratch::for_ordinary_user();
        scratch.write("ws/jp-confine.toml", &format!("[access]\n{rules}"));
        let run = Run::new(&scratch, "bash", &["-c", &script]).env("GIVEN", "given").run();
        assert_eq!(run.stdout, expected, "{rules}: {run}");
    }
}
