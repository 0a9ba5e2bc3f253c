//! A C project: make in parallel, gcc, a static library, the program it builds.

use std::fmt::Write as _;

use crate::run::{Run, given};
use crate::scratch::Scratch;

const MAKEFILE: &str = "\
OBJECTS = main.o part1.o part2.o part3.o part4.o part5.o part6.o
program: main.o libparts.a
\t$(CC) -o $@ main.o -L. -lparts -lm
libparts.a: $(OBJECTS:main.o=)
\t$(AR) rcs $@ $^
%.o: %.c parts.h
\t$(CC) -O2 -Wall -c -o $@ $<
clean:
\trm -f *.o *.a program
";

#[test]
fn make_in_parallel() {
    let Some(scratch) = given(&["make", "gcc"], Scratch::new) else { return };
    scratch.write("ws/Makefile", MAKEFILE);
    let (mut header, mut sum) = (String::new(), String::from("0"));
    for n in 1..=6 {
        let _ = writeln!(header, "int part{n}(void);");
        let _ = write!(sum, " + part{n}()");
        let code = format!("#include \"parts.h\"\nint part{n}(void) {{ return {n}; }}\n");
        scratch.write(&format!("ws/part{n}.c"), &code);
    }
    scratch.write("ws/parts.h", &header);
    let main = format!(
        "#include <stdio.h>\n#include <math.h>\n#include \"parts.h\"\n\
         int main(int n, char **a) {{ (void)a; printf(\"sum %d\\n\", {sum});\n\
         return n > 1 ? (int)sqrt(n) : 0; }}\n"
    );
    scratch.write("ws/main.c", &main);
    Run::new(&scratch, "make", &["-j4", "CC=gcc"]).run().assert_ok();
    Run::new(&scratch, "./program", &[]).run().assert_ok().assert_stdout("sum 21");
    Run::new(&scratch, "make", &["clean"]).run().assert_ok();
    Run::new(&scratch, "make", &["-j4", "CC=gcc -pipe -g -save-temps"]).run().assert_ok();

    // The compiler cannot include a file that nothing grants, and make cannot write one.
    let before = scratch.forbidden();
    scratch.write("ws/leak.c", &scratch.expand("#include \"$OUT/secret\"\n"));
    let leak = Run::new(&scratch, "gcc", &["-E", "leak.c"]).run();
    leak.assert_code(1).assert_no_secret();
    scratch.write("ws/Makefile", &scratch.expand("all:\n\techo changed > $OUT/target\n"));
    Run::new(&scratch, "make", &[]).run().assert_code(2);
    before.assert_same(&scratch.forbidden());
}
