//! Programs stay confined beside other preloads, in signal handlers and raw children, before constructors and after
//! destructors.

use crate::attack::attacks;
use crate::attacks_programs::scripts;

attacks! {
    signal_handler: "", "handler open $OUT/secret" => "EACCES";
    signal_handler_on_a_small_stack: "", "handler_small_stack open $OUT/secret" => "EACCES";
    signal_handler_by_link: "ln -s $OUT d", "handler_small_stack open d/dir/../secret" => "EACCES";
    signal_handler_vfork: "", "handler_vfork open $OUT/secret" => "EACCES";
    signal_handler_vfork_empty: "", "empty_env handler_vfork open $OUT/secret" => "EACCES";
    raw_clone: "", "raw_clone open $OUT/secret" => "EACCES";
    raw_clone_that_changes_directory: "", "write_creat known , raw_clone chdir $OUT open secret" => "EACCES";
    raw_clone_exec: "", "raw_clone exec_self open $OUT/secret" => "EACCES";
    forks_under_load: "", "forks_under_load open $OUT/secret" => "EACCES";
    forks_under_load_by_link: "ln -s $OUT d", "forks_under_load open d/secret" => "EACCES";
}

scripts! {
    allocator_before: "cc", "cc -shared -fPIC -DREADS=\"\\\"$OUT/secret\\\"\" -o p.so $PRELOADS/allocator.c",
        "LD_PRELOAD=$WS/p.so:$LD_PRELOAD cat file $OUT/secret";
    allocator_after: "cc", "cc -shared -fPIC -DREADS=\"\\\"$OUT/secret\\\"\" -o p.so $PRELOADS/allocator.c",
        "LD_PRELOAD=$LD_PRELOAD:$WS/p.so cat file $OUT/secret";
    allocator_alone: "cc", "cc -shared -fPIC -DREADS=\"\\\"$OUT/secret\\\"\" -o p.so $PRELOADS/allocator.c",
        "LD_PRELOAD=$WS/p.so ls -la";
    interposer_before: "cc", "cc -shared -fPIC -o p.so $PRELOADS/interposer.c",
        "LD_PRELOAD=$WS/p.so:$LD_PRELOAD cat $OUT/secret";
    interposer_after: "cc", "cc -shared -fPIC -o p.so $PRELOADS/interposer.c",
        "LD_PRELOAD=$LD_PRELOAD:$WS/p.so cat $OUT/secret";
    constructor_before: "cc", "cc -shared -fPIC -DREADS=\"\\\"$OUT/secret\\\"\" -o p.so $PRELOADS/early.c",
        "LD_PRELOAD=$WS/p.so:$LD_PRELOAD cat file";
    constructor_after: "cc", "cc -shared -fPIC -DREADS=\"\\\"$OUT/secret\\\"\" -o p.so $PRELOADS/early.c",
        "LD_PRELOAD=$LD_PRELOAD:$WS/p.so cat file";
    before_any_constructor: "cc", "cc -DPREINIT -DREADS=\"\\\"$OUT/secret\\\"\" -o early $PRELOADS/early.c",
        "./early";
    before_any_constructor_with_nothing: "cc",
        "cc -DPREINIT -DREADS=\"\\\"$OUT/secret\\\"\" -o early $PRELOADS/early.c", "env -i ./early";
    faketime: "faketime", "faketime '2020-02-02 02:02' cat $OUT/secret";
}
