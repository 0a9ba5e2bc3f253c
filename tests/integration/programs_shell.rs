//! Shell scripts and the small tools that they are made of.

use std::fmt::Write as _;

use crate::run::{Mode, Run, have};
use crate::scratch::Scratch;

/// Runs `script` with `bash -e`. Then proves in the same run that the outside is out of reach.
fn assert_works(tools: &[&str], script: &str) {
    if !have("bash") || !tools.iter().all(|tool| have(tool)) {
        return;
    }
    let bare = Scratch::new();
    let works = format!("set -euo pipefail\n{script}\necho worked");
    Run::new(&bare, "bash", &["-c", &works])
        .mode(Mode::Bare)
        .run()
        .assert_ok()
        .assert_stdout("worked");

    let scratch = Scratch::new();
    let proof = "
        echo worked
        set +e
        cat $OUT/secret; cat < $OUT/secret; echo x > $OUT/target; rm -rf $OUT/dir; mv $OUT/secret got
        cp $OUT/secret got; ln -s $OUT there; cat there/secret; touch there/new; ls $HOME/.private
        exit 3";
    let script = format!("set -euo pipefail\n{script}\n{}", scratch.expand(proof));
    let before = scratch.forbidden();
    let run = Run::new(&scratch, "bash", &["-c", &script]).run();
    run.assert_stdout("worked").assert_code(3).assert_no_secret();
    before.assert_same(&scratch.forbidden());
    scratch.assert_nothing_leaked();
}

#[test]
fn pipes_documents_and_redirections() {
    assert_works(
        &["wc", "tr", "tee"],
        r#"cat <<END > here
one
two
END
        test "$(wc -l < here)" -eq 2
        cat <<< "a string" | tr a-z A-Z | tee copy | grep -q STRING
        echo more >> here; test "$(tail -n1 here)" = more
        exec 5> five; echo by number >&5; exec 5>&-; grep -q number five
        exec 6<> both; echo x >&6; exec 6>&-
        { echo out; echo err >&2; } > out 2> err; grep -q err err
        cat missing > /dev/null 2>&1 || true
        diff <(echo a) <(echo a)
        mkfifo pipe; (echo through > pipe &) ; test "$(cat pipe)" = through
        (cd dir && pwd && test "$(basename "$PWD")" = dir)
        for file in *; do test -e "$file"; done
        test -d "$TMPDIR"; echo private > "$TMPDIR/x"; rm "$TMPDIR/x"
        read -r line < here; test "$line" = one
        trap 'echo trapped > trapped' EXIT; trap - EXIT
        set -o noclobber; ! echo again > here 2> /dev/null; set +o noclobber"#,
    );
}

#[test]
fn archives() {
    assert_works(
        &["tar", "gzip"],
        "mkdir -p tree/a/b; for i in 1 2 3 4 5; do echo $i > tree/a/b/$i; ln -s $i tree/a/b/l$i; done
        ln tree/a/b/1 tree/hard; chmod 750 tree/a
        tar -czf tree.tgz tree; mkdir copy; tar -C copy -xpzf tree.tgz
        diff -r tree copy/tree; test copy/tree/hard -ef copy/tree/a/b/1
        gzip -k file; gunzip -c file.gz | cmp - file
        tar -cf - tree | tar -tf - | grep tree/a/b/l5 > /dev/null",
    );
}

#[test]
fn everyday_tools() {
    assert_works(
        &["find", "xargs", "sed", "sort"],
        "mkdir -p a/b/c; for f in a/one a/b/two a/b/c/three; do echo $f > $f; done
        find . -type f -print0 | xargs -0 sed -i -e '$a appended'
        find a -name 't*' -exec grep -l appended {} + > /dev/null
        seq 1000 | sort -rn -T \"$TMPDIR\" -S 16k > sorted; head -n1 sorted | grep -q 1000
        sort -o file file
        cp -a a copy; diff -r a copy
        mv copy moved; mv moved/one moved/uno; mv -T moved/b moved/bee
        ln -s moved soft; ln file hard; readlink soft; realpath soft > /dev/null
        chmod -R u+w,go-w moved; chmod 600 file; test \"$(stat -c %a file)\" = 600
        touch -d 2001-02-03 file; touch -r file hard; test \"$(date -r file +%Y)\" = 2001
        install -m 644 -D file installed/deep/file
        truncate -s 10 file; dd if=/dev/zero of=zeros bs=1k count=4 status=none
        split -b 1k zeros part-; cat part-* | cmp - zeros
        du -s . > /dev/null; df . > /dev/null; ls -laR . > /dev/null; id > /dev/null
        tail -c +2 zeros > /dev/null; od -c zeros > /dev/null; cksum zeros > /dev/null
        rm -r a moved installed; rmdir dir; test ! -e a",
    );
}

#[test]
fn rsync() {
    assert_works(
        &["rsync"],
        "mkdir -p from/a/b; echo x > from/a/b/x; ln -s x from/a/b/l
        rsync -a from/ to; diff -r from to; echo y >> from/a/b/x; rsync -a --delete from/ to
        diff -r from to; rm -r from/a; rsync -a --delete from/ to; test ! -e to/a",
    );
}

#[test]
fn pipeline_of_two_hundred() {
    let mut script = "echo through".to_owned();
    for _ in 0..200 {
        let _ = write!(script, " | cat");
    }
    assert_works(&[], &format!("test \"$({script})\" = through"));
}

/// A script reports the same signals and statuses as bare.
#[test]
fn statuses() {
    assert_works(
        &["timeout"],
        "set +e
        sh -c 'exit 42'; test $? -eq 42 || exit 1
        sh -c 'kill -TERM $$'; test $? -eq 143 || exit 1
        no-such-program 2> /dev/null; test $? -eq 127 || exit 1
        ./file 2> /dev/null; test $? -eq 126 || exit 1
        timeout 0.1 sleep 5; test $? -eq 124 || exit 1
        sleep 5 & kill $!; wait $!; test $? -eq 143 || exit 1",
    );
}
