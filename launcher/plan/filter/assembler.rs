//! Assembles classic BPF with labels as jump targets. Used by the seccomp filter.
//!
//! A conditional jump reaches 255 instructions. To go further, it jumps to one of two long jumps. All jumps go forward,
//! as the kernel demands.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W, sock_filter,
};

/// The longest conditional jump.
const SHORT: usize = u8::MAX as usize;

/// A place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// The test of a conditional jump on the last loaded value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    /// Equals this.
    Is(u32),
    /// Is this or more.
    AtLeast(u32),
    /// Has one of these bits.
    Any(u32),
}

#[derive(Clone, Copy, Debug)]
enum Item {
    Plain(sock_filter),
    Branch { test: Test, then: Label, otherwise: Label },
    Place(Label),
}

/// A program under construction.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    items: Vec<Item>,
    labels: usize,
}

impl Assembler {
    /// A new label, to be [placed](Self::place) later.
    pub(super) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Puts `label` before the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        self.items.push(Item::Place(label));
    }

    /// Loads the word at `offset` of the filter's input (`struct seccomp_data`).
    pub(super) fn load(&mut self, offset: u32) {
        self.plain(BPF_LD | BPF_W | BPF_ABS, offset);
    }

    /// Clears all other bits of the loaded word.
    pub(super) fn mask(&mut self, bits: u32) {
        self.plain(BPF_ALU | BPF_AND | BPF_K, bits);
    }

    /// Ends the program with this answer.
    pub(super) fn answer(&mut self, answer: u32) {
        self.plain(BPF_RET | BPF_K, answer);
    }

    /// Goes to `then` if the loaded word passes the test, to `otherwise` if not.
    pub(super) fn branch(&mut self, test: Test, then: Label, otherwise: Label) {
        self.items.push(Item::Branch { test, then, otherwise });
    }

    /// Goes to `then` if the loaded word passes the test, else on to the next instruction.
    pub(super) fn branch_away(&mut self, test: Test, then: Label) {
        let next = self.label();
        self.branch(test, then, next);
        self.place(next);
    }

    fn plain(&mut self, code: u32, k: u32) {
        self.items.push(Item::Plain(instruction(code, 0, 0, k)));
    }

    /// The finished program.
    pub(super) fn finish(self) -> Vec<sock_filter> {
        let mut long = vec![false; self.items.len()];
        loop {
            let layout = Layout::of(&self, &long);
            let stretched = layout.out_of_reach(&self, &long);
            if stretched.is_empty() {
                return layout.program(&self, &long);
            }
            for index in stretched {
                long[index] = true;
            }
        }
    }
}

/// The position of everything, given which branches are long so far.
struct Layout {
    /// Per item.
    starts: Vec<usize>,
    /// Per label.
    places: Vec<usize>,
}

impl Layout {
    fn of(source: &Assembler, long: &[bool]) -> Self {
        let mut places = vec![0; source.labels];
        let mut starts = Vec::with_capacity(source.items.len());
        let mut at = 0;
        for (item, long) in source.items.iter().zip(long) {
            starts.push(at);
            at += match item {
                Item::Place(label) => {
                    places[label.0] = at;
                    0
                }
                Item::Branch { .. } if *long => 3,
                Item::Plain(_) | Item::Branch { .. } => 1,
            };
        }
        Self { starts, places }
    }

    /// The branches that must become long. That only ever increases distances.
    fn out_of_reach(&self, source: &Assembler, long: &[bool]) -> Vec<usize> {
        let far = |index: usize, label: Label| self.distance(index, 1, label) > SHORT;
        let is_stretched = |index: usize| {
            matches!(source.items[index], Item::Branch { then, otherwise, .. }
                if !long[index] && (far(index, then) || far(index, otherwise)))
        };
        (0..source.items.len()).filter(|index| is_stretched(*index)).collect()
    }

    /// The number of instructions between the label and the one `after` places behind the item's start.
    fn distance(&self, index: usize, after: usize, label: Label) -> usize {
        self.places[label.0] - (self.starts[index] + after)
    }

    fn program(&self, source: &Assembler, long: &[bool]) -> Vec<sock_filter> {
        let mut program = Vec::new();
        for (index, item) in source.items.iter().enumerate() {
            match *item {
                Item::Place(_) => {}
                Item::Plain(plain) => program.push(plain),
                Item::Branch { test, then, otherwise } if long[index] => {
                    program.push(conditional(test, 0, 1));
                    program.push(jump(self.distance(index, 2, then)));
                    program.push(jump(self.distance(index, 3, otherwise)));
                }
                Item::Branch { test, then, otherwise } => {
                    let [then, otherwise] =
                        [then, otherwise].map(|label| self.distance(index, 1, label));
                    program.push(conditional(test, then, otherwise));
                }
            }
        }
        program
    }
}

fn conditional(test: Test, then: usize, otherwise: usize) -> sock_filter {
    let (code, k) = match test {
        Test::Is(k) => (BPF_JEQ, k),
        Test::AtLeast(k) => (BPF_JGE, k),
        Test::Any(k) => (BPF_JSET, k),
    };
    let short = |distance: usize| u8::try_from(distance).expect("longer ones have become long");
    instruction(BPF_JMP | code | BPF_K, short(then), short(otherwise), k)
}

fn jump(distance: usize) -> sock_filter {
    let distance = u32::try_from(distance).expect("a program has at most 4096 instructions");
    instruction(BPF_JMP | BPF_JA, 0, 0, distance)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    let code = u16::try_from(code).expect("the codes of classic BPF have two bytes");
    sock_filter { code, jt, jf, k }
}
