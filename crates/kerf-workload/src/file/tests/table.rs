&[
("n = 16", "n = ", &[
    "3:5: string values must be quoted; expected literal string",
]),
("len = \"n\"", "len = \"n", &[
    "7:9: invalid basic string; expected `\"`",
]),
("n = 16", "n = 16\nn = 17", &[
    "4:1: duplicate key; expected each key once",
]),
("args = [\"x\", \"n\"]", "args = [\"x\", \"n\"\ngrid = 3 3\n[launch_space]", &[
    "14:1: missing comma between array elements; expected `,`; help: or close the list with `]` before",
    "14:8: string values must be quoted; expected literal string",
    "16:2: duplicate key; expected each key once",
]),
("[[launch]]", "[launch]", &[
    "9:2: `launch` is a table; expected a list of tables; help: write `[[launch]]`, with two brackets",
]),
("[[buffer]]", "[buffer]", &[
    "4:2: `buffer` is a table; expected a list of tables; help: write `[[buffer]]`, with two brackets",
]),
("source = \"k.cu\"", "source = \"missing.cu\"", &[
    "1:10: source `missing.cu` does not exist; expected a file DIR/missing.cu; help: paths are relative to the workload file",
]),
("source = \"k.cu\"", "source = \"k.txt\"", &[
    "1:10: source `k.txt` is of no known kind; expected a file ending in .cu, .cl, .ptx, .ll or .bc",
]),
("source = \"k.cu\"", "source = 3", &[
    "1:10: `source` is an integer; expected a string",
]),
("source = \"k.cu\"", "source = \"\"", &[
    "1:10: `source` is empty; expected a string",
]),
("source = \"k.cu\"\n", "", &[
    "1:1: a workload file without `source`; expected `source = \"kernels.cu\"`",
]),
("source = \"k.cu\"", "source = \"k.cu\"\nflags = [\"-O2\", 3, \"-I\"]", &[
    "2:9: the last of `flags` has no directory; expected a directory after it",
    "2:17: a flag is an integer; expected a string",
]),
("source = \"k.cu\"", "source = \"k.cu\"\nseed = \"x\"", &[
    "2:8: `seed` is a string; expected an integer of 0 or more",
]),
("source = \"k.cu\"", "source = \"k.cu\"\nbufers = 1", &[
    "2:1: unknown key `bufers` in a workload file; expected one of `source`, `flags`, `seed`, `sizes`, `cpu_sizes`, `buffer`, `launch`, `launch_space`, `accept`; help: did you mean `buffer`?",
]),
("n = 16", "n = 1.5", &[
    "3:5: size `n` is 1.5; expected an integer; help: round with `floor(..)` or `ceil(..)`",
]),
("n = 16", "n = true", &[
    "3:5: size `n` is a boolean; expected a number or an expression",
]),
("n = 16", "n = \"2 * q\"", &[
    "3:10: unknown name `q`; expected a size",
]),
("n = 16", "n = \"m\"\nm = 16", &[
    "3:6: size `m` used before its definition; expected an earlier size",
]),
("n = 16", "n = \"9223372036854775807 + 1\"", &[
    "3:5: size `n` is 9223372036854775808; expected a 64-bit integer",
]),
("n = 16", "n = 16\n\"n-1\" = 3", &[
    "4:1: size `n-1` has no usable name; expected letters, digits and `_`, not starting with a digit",
]),
("n = 16", "n = 16\nx = 3", &[
    "6:8: buffer `x` has the name of a size; expected a name of its own",
]),
("n = 16", "n = 16\nbx = 3", &[
    "16:1: launch-space parameter `bx` has the name of a size; expected a name of its own",
]),
("n = 16", "n = 16\nrand = 3", &[
    "4:1: size named `rand`; expected another name: `i` and `rand` have a meaning in `expr` inits",
]),
("[sizes]\nn = 16", "sizes = 3", &[
    "2:9: `sizes` is an integer; expected a table `[sizes]`",
    "6:8: unknown name `n`; expected a size",
    "10:19: unknown name `n`; expected a size or a launch-space parameter",
    "12:14: unknown name `n`; expected a buffer or an expression",
]),
("name = \"x\"", "name = \"1x\"", &[
    "5:8: buffer `1x` has no usable name; expected letters, digits and `_`, not starting with a digit",
    "13:9: unknown name `x`; expected a buffer or an expression",
]),
("name = \"x\"", "name = \"n\"", &[
    "5:8: buffer `n` has the name of a size; expected a name of its own",
    "13:9: unknown name `x`; expected a buffer or an expression",
]),
("name = \"x\"", "", &[
    "4:1: a buffer without `name`; expected `name = \"x\"`",
    "13:9: unknown name `x`; expected a buffer or an expression",
]),
("type = \"f32\"", "type = \"float4\"", &[
    "6:8: unknown type `float4`; expected f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64, with x2 x3 x4 x8 x16 for vectors; help: `float4` is written `f32x4`",
]),
("type = \"f32\"", "type = []", &[
    "6:8: struct without fields; expected a list of types",
]),
("type = \"f32\"", "type = [\"f32\", \"strng\", 3]", &[
    "6:16: unknown type `strng`; expected f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64, with x2 x3 x4 x8 x16 for vectors",
    "6:25: `type` is an integer; expected a string such as \"f64\", or a list of types for a struct",
]),
("len = \"n\"", "len = 0", &[
    "7:7: `len` is 0; expected at least 1 element",
]),
("len = \"n\"", "len = \"-n\"", &[
    "7:7: `len` is -16; expected at least 1 element",
]),
("len = \"n\"", "len = \"n / 2.0\"", &[
    "7:7: `len` is 8.0; expected an integer; help: round with `floor(..)` or `ceil(..)`",
]),
("len = \"n\"", "len = \"n * bx\"", &[
    "7:12: launch-space parameter `bx` used here; expected a size; help: what a buffer holds cannot depend on how kernels are launched",
]),
("len = \"n\"", "len = \"N\"", &[
    "7:8: unknown name `N`; expected a size; help: did you mean `n`?",
]),
("len = \"n\"", "len = \"pow(2, 50)\"", &[
    "7:7: `len` of 1125899906842624 makes 4503599627370496 bytes; expected at most 1099511627776 (1 TiB)",
]),
("len = \"n\"", "len = \"pow(2, 39)\"\n[[buffer]]\nname = \"y\"\ntype = \"f64\"\nlen = \"pow(2, 37)\"", &[
    "7:7: `len` of 549755813888 makes 2199023255552 bytes; expected at most 1099511627776 (1 TiB)",
]),
("len = \"n\"", "len = \"n\"\nshape = [4, 5]", &[
    "8:9: `shape` has 20 elements; expected 16, as many as `len`",
]),
("len = \"n\"", "len = \"n\"\nshape = [\"n\", 0]", &[
    "8:15: an extent of `shape` is 0; expected at least 1",
]),
("len = \"n\"", "len = \"n\"\nshape = 16", &[
    "8:9: `shape` is an integer; expected a list of extents",
]),
("output = true", "", &[
    "1:1: no buffer is an output; expected at least one with `output = true`; help: nothing will be compared with the reference",
]),
("output = true", "output = \"yes\"", &[
    "8:10: `output` is a string; expected `true` or `false`",
]),
("output = true", "symbol = \"sym\"\noutput = true", &[
    "14:9: buffer `x` as an argument, but it is a variable of the source; expected a buffer without `symbol`; help: kernels use the variable by its name",
]),
("output = true", "output = true\ninit = 0.5", &[
    "9:8: `init` is the number 0.5; expected `\"zero\"` or a table; help: write `{ constant = 0.5 }`",
]),
("output = true", "output = true\ninit = \"zeros\"", &[
    "9:8: unknown init `zeros`; expected one of zero, constant, uniform, normal, log_uniform, linear, values, permutation, expr, file; help: did you mean `zero`?",
]),
("output = true", "output = true\ninit = { unifrom = [0, 1] }", &[
    "9:10: unknown init `unifrom`; expected one of zero, constant, uniform, normal, log_uniform, linear, values, permutation, expr, file; help: did you mean `uniform`?",
]),
("output = true", "output = true\ninit = { uniform = [0] }", &[
    "9:20: `uniform` lists 1; expected two numbers",
]),
("output = true", "output = true\ninit = { uniform = [1, 0] }", &[
    "9:8: uniform from 1 to 0; expected the first number below the second",
]),
("output = true", "output = true\ninit = { uniform = [0, 1], zero = true }", &[
    "9:8: `init` with 2 keys; expected exactly one, such as `{ uniform = [0, 1] }`",
]),
("output = true", "output = true\ninit = { zero = false }", &[
    "9:17: `zero` is not `true`; expected `{ zero = true }`",
]),
("output = true", "output = true\ninit = { values = [1, 1e39, \"q\", true] }", &[
    "9:23: 1e39 does not fit f32; expected a number up to 3.4028234663852886e38 in magnitude",
    "9:30: unknown name `q`; expected a size",
    "9:34: one of `values` is a boolean; expected a number or an expression",
]),
("output = true", "output = true\ninit = { values = [1, 2] }", &[
    "9:8: 2 values; expected 16, one for each scalar",
]),
("output = true", "output = true\ninit = { permutation = true }", &[
    "9:8: permutation of f32; expected an integer type",
]),
("output = true", "output = true\ninit = { expr = \"i * j + x\" }", &[
    "9:22: unknown name `j`; expected a size, `i` or `rand`",
    "9:26: unknown name `x`; expected a size, `i` or `rand`",
]),
("output = true", "output = true\ninit = { file = \"y.npy\" }", &[
    "9:17: file `y.npy` does not exist; expected a file DIR/y.npy; help: paths are relative to the workload file",
]),
("output = true", "output = true\ninit = { file = \"k.cu\" }", &[
    "9:17: file `k.cu`: not a .npy file; expected a .npy file of a scalar type or struct; help: save it with `numpy.save`",
]),
("type = \"f32\"\nlen = \"n\"\noutput = true", "type = \"f64\"\nlen = \"n\"\noutput = true\ninit = { file = \"x.npy\" }", &[
    "9:17: file `x.npy`: type f32, not f64; expected type f64; help: change `type`, or save `a.astype(..)`",
]),
("output = true", "output = true\ninit = [{ zero = true }]", &[
    "9:8: a list of inits for type f32; expected one init; help: numbers are listed as `{ values = [..] }`",
]),
("type = \"f32\"\nlen = \"n\"\noutput = true", "type = [\"f32\", \"i8\"]\nlen = \"n\"\noutput = true\ninit = { uniform = [0, 1] }", &[
    "9:8: one init for a struct [f32, i8]; expected a list of inits, one for each field; help: or `\"zero\"`, or a file with all fields",
]),
("type = \"f32\"\nlen = \"n\"\noutput = true", "type = [\"f32\", \"i8\"]\nlen = \"n\"\noutput = true\ninit = [{ uniform = [0, 1] }, { constant = 200 }, \"zero\"]", &[
    "9:8: 3 inits for 2 fields; expected one init for each field",
    "9:31: 200 does not fit i8; expected an integer from -128 to 127",
]),
("[[launch]]\nkernel = \"k\"\ngrid = [\"ceil_div(n, bx)\"]\nblock = [\"bx\"]\nargs = [\"x\", \"n\"]\n", "", &[
    "1:1: a workload file without `launch`; expected `[[launch]]`",
]),
("kernel = \"k\"", "kernel = 3", &[
    "10:10: `kernel` is an integer; expected a string",
]),
("kernel = \"k\"", "", &[
    "9:1: a step without `kernel`; expected `kernel = \"name\"`",
]),
("kernel = \"k\"", "kernal = \"k\"", &[
    "10:1: unknown key `kernal` in a step; expected one of `kernel`, `grid`, `block`, `shared`, `args`, `for`, `do`, `copy`, `swap`; help: did you mean `kernel`?",
]),
("kernel = \"k\"", "kernel = \"k\"\nswap = [\"x\", \"x\"]", &[
    "11:1: step with `kernel` and `swap`; expected exactly one of them",
]),
("grid = [\"ceil_div(n, bx)\"]", "", &[
    "9:1: a step without `grid`; expected `grid = [\"n\"]`",
]),
("grid = [\"ceil_div(n, bx)\"]", "grid = []", &[
    "11:8: `grid` with 0 expressions; expected 1 to 3",
]),
("grid = [\"ceil_div(n, bx)\"]", "grid = [1, 2, 3, 4]", &[
    "11:8: `grid` with 4 expressions; expected 1 to 3",
]),
("grid = [\"ceil_div(n, bx)\"]", "grid = \"n\"", &[
    "11:8: `grid` is a string; expected a list of 1 to 3 expressions",
]),
("grid = [\"ceil_div(n, bx)\"]", "grid = [\"n - 16\", 65536, [1]]", &[
    "11:9: grid.x is 0; expected an integer from 1 to 2147483647",
    "11:19: grid.y is 65536; expected an integer from 1 to 65535",
    "11:26: `grid` is a list; expected a number or an expression",
]),
("grid = [\"ceil_div(n, bx)\"]", "grid = [\"ceildiv(n, bx)\"]", &[
    "11:10: unknown function `ceildiv`; expected one of min, max, abs, ceil_div, select, pow, sqrt, exp, log, log2, sin, cos, floor, ceil; help: did you mean `ceil_div`?",
]),
("grid = [\"ceil_div(n, bx)\"]", "grid = [\"ceil_div(n, by)\"]", &[
    "11:22: unknown name `by`; expected a size or a launch-space parameter; help: did you mean `bx`?",
]),
("grid = [\"ceil_div(n, bx)\"]", "grid = [\"n /\"]", &[
    "11:13: expression ends early; expected a number, a name or `(`",
]),
("block = [\"bx\"]", "block = [1025, 1, 65]", &[
    "12:10: block.x is 1025; expected an integer from 1 to 1024",
    "12:19: block.z is 65; expected an integer from 1 to 64",
]),
("block = [\"bx\"]", "block = [32, \"2 * n\", 2]", &[
    "12:9: block of 32 x 32 x 2 is 2048 threads; expected at most 1024",
]),
("block = [\"bx\"]", "block = [\"bx\"]\nshared = -8", &[
    "13:10: `shared` is -8; expected an integer from 0 to 4294967295, in bytes",
]),
("args = [\"x\", \"n\"]", "args = [\"X\", \"nn\", \"n + q\", \"x + 1\"]", &[
    "13:9: unknown name `X`; expected a buffer or an expression; help: did you mean `x`?",
    "13:14: unknown name `nn`; expected a buffer or an expression; help: did you mean `n`?",
    "13:25: unknown name `q`; expected a size or a launch-space parameter",
    "13:30: buffer `x` in an expression; expected a size or a launch-space parameter; help: an address inside a buffer is `{ buffer = \"x\", offset = \"..\" }`",
]),
("args = [\"x\", \"n\"]", "args = [{ buffer = \"z\" }, { buffer = \"x\", ofset = 1 }]", &[
    "13:20: unknown buffer `z`; expected the name of a `[[buffer]]`",
    "13:43: unknown key `ofset` in an argument; expected one of `buffer`, `offset`; help: did you mean `offset`?",
]),
("args = [\"x\", \"n\"]", "args = [{ f23 = 1 }, { struct = [{ local = 8 }, \"z\"] }, [1], {}]", &[
    "13:11: unknown kind of argument `f23`; expected a buffer, a number, an expression, or one of `{ buffer = .. }`, `{ struct = [..] }`, `{ local = .. }`, `{ f32 = .. }`; help: did you mean `f32`?",
    "13:36: `local` inside a struct; expected it as an argument",
    "13:49: unknown name `z`; expected a buffer or an expression",
    "13:57: an argument is a list; expected a buffer, a number, an expression, or one of `{ buffer = .. }`, `{ struct = [..] }`, `{ local = .. }`, `{ f32 = .. }`",
    "13:62: argument with 0 keys; expected a buffer, a number, an expression, or one of `{ buffer = .. }`, `{ struct = [..] }`, `{ local = .. }`, `{ f32 = .. }`",
]),
("args = [\"x\", \"n\"]", "args = \"x\"", &[
    "13:8: `args` is a string; expected a list of arguments",
]),
("kernel = \"k\"", "for = { n = \"0..4\" }\nkernel = \"k\"", &[
    "10:9: loop variable `n` has the name of a size; expected a name of its own",
]),
("kernel = \"k\"", "for = { t = \"0..4\", u = \"0..2\" }\nkernel = \"k\"", &[
    "10:7: `for` with 2 variables; expected `for = { t = \"0..n\" }`; help: nest loops with `do` for more than one",
]),
("kernel = \"k\"", "for = \"0..4\"\nkernel = \"k\"", &[
    "10:7: `for` is a string; expected `for = { t = \"0..n\" }`",
]),
("kernel = \"k\"", "for = { t = 4 }\nkernel = \"k\"", &[
    "10:13: range of a loop is an integer; expected a string `\"a..b\"`; help: write `\"0..4\"`",
]),
("kernel = \"k\"", "for = { t = \"n\" }\nkernel = \"k\"", &[
    "10:14: no range; expected a range `a..b` or `a..=b`; help: to count from zero write `0..n`",
]),
("kernel = \"k\"", "for = { t = \"0..m step 0\" }\nkernel = \"k\"", &[
    "10:13: step of a loop is 0; expected any other integer",
    "10:17: unknown name `m`; expected a size or a launch-space parameter",
]),
("kernel = \"k\"", "for = { t = \"0..t\" }\nkernel = \"k\"", &[
    "10:17: unknown name `t`; expected a size or a launch-space parameter",
]),
("[launch_space]", "[[launch]]\ndo = [{ swap = [\"x\"] }]\n[launch_space]", &[
    "15:1: `do` without `for`; expected `for = { t = \"0..n\" }`",
    "15:16: `swap` lists 1; expected two buffers",
]),
("[launch_space]", "[[launch]]\nfor = { t = \"0..2\" }\ndo = []\n[launch_space]", &[
    "16:6: `do` is empty; expected at least one step",
]),
("[launch_space]", "[[launch]]\nfor = { t = \"0..2\" }\ndo = [{ for = { t = \"0..2\" }, copy = { from = \"x\" } }]\n[launch_space]", &[
    "16:17: loop variable `t` has the name of a loop variable around it; expected a name of its own",
    "16:38: `copy` without `to`; expected `copy = { from = \"x\", to = \"y\" }`",
]),
("[launch_space]", "[[launch]]\ncopy = { from = \"x\", to = \"x\" }\ngrid = [1]\n[launch_space]", &[
    "15:8: copy of `x` to itself; expected two buffers",
    "16:1: `grid` in a step with `copy`; expected it only with `kernel`",
]),
("[launch_space]", "[[buffer]]\nname = \"y\"\ntype = \"f64\"\nlen = 3\n[[launch]]\ncopy = { from = \"x\", to = \"y\" }\n[[launch]]\nswap = [\"x\", \"y\"]\n[launch_space]", &[
    "19:8: `x` has 64 bytes, `y` has 24; expected equal byte lengths",
    "21:8: swap of `x` and `y`, which differ in type or length; expected two buffers of equal type and length",
]),
("[launch_space]", "[[launch]]\n[launch_space]", &[
    "14:1: step without `kernel`, `do`, `copy` or `swap`; expected exactly one of them",
]),
("bx = [32, 64]", "bx = 32", &[
    "15:6: launch-space parameter `bx` is an integer; expected a list of integers; help: write `bx = [32]`",
]),
("bx = [32, 64]", "bx = []", &[
    "15:6: launch-space parameter `bx` has no values; expected at least one integer",
]),
("bx = [32, 64]", "bx = [32, 32, 0.5]", &[
    "15:11: launch-space parameter `bx` lists 32 twice; expected each value once",
    "15:15: a value of `bx` is 0.5; expected an integer; help: round with `floor(..)` or `ceil(..)`",
]),
("bx = [32, 64]", "bx = [32, 64]\nconstraints = [\"bx < n\", \"by > 1\"]", &[
    "16:27: unknown name `by`; expected a size or a launch-space parameter; help: did you mean `bx`?",
]),
("bx = [32, 64]", "bx = [32, 64]\nconstraints = [\"bx < n\"]", &[
    "16:15: no combination of values satisfies the constraints; expected at least one that does",
]),
("bx = [32, 64]", "bx = [32, 64]\ndefault = { bx = 48, by = 1 }", &[
    "16:18: default of `bx` is 48; expected one of its values: 32, 64",
    "16:22: default of unknown parameter `by`; expected a parameter of the launch space; help: did you mean `bx`?",
]),
("bx = [32, 64]", "bx = [32, 64]\nconstraints = [\"bx < 64\"]\ndefault = { bx = 64 }", &[
    "17:11: default bx = 64 breaks `bx < 64`; expected a default that satisfies the constraints",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\nmetric = \"maxrel\"", &[
    "17:10: unknown metric `maxrel`; expected one of max_rel, max_abs, max_ulp, quantile, rms, rel_l2, rel_linf, mean_rel, digits, psnr, ssim, bp; help: did you mean `max_rel`?",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\nmetric = \"quantile\"\ntolerance = 1e-6", &[
    "16:1: metric `quantile` without `quantile`; expected `quantile = 0.999`",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\ntolerance = -1\nfloor = 0\nquantile = 2", &[
    "17:13: `tolerance` is -1; expected a number of 0 or more",
    "18:9: `floor` is 0; expected a number above 0",
    "19:12: `quantile` is 2; expected a number above 0 and at most 1",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\ntolerence = 1", &[
    "17:1: unknown key `tolerence` in `[accept]`; expected one of `metric`, `tolerance`, `floor`, `quantile`, `peak`, `allow_nan`, `outputs`; help: did you mean `tolerance`?",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\ntolerance = 1\nallow_nan = 1\n[accept.outputs.x]\nallow_nan = \"yes\"", &[
    "18:13: `allow_nan` is an integer; expected `true` or `false`",
    "20:13: `allow_nan` is a string; expected `true` or `false`",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\ntolerance = 1\nalow_nan = true", &[
    "18:1: unknown key `alow_nan` in `[accept]`; expected one of `metric`, `tolerance`, `floor`, `quantile`, `peak`, `allow_nan`, `outputs`; help: did you mean `allow_nan`?",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\n", &[
    "16:1: no `tolerance`; expected `tolerance = 1e-6`",
]),
("bx = [32, 64]", "bx = [32, 64]\n[accept]\ntolerance = 1\n[accept.outputs.y]\nfloor = 1", &[
    "18:17: criterion for unknown output `y`; expected the name of an output",
]),
("args = [\"x\", \"n\"]", "args = [18446744073709551615]", &[
    "13:9: integer number overflowed; expected a 64-bit integer; help: write larger integers as strings",
]),
("args = [\"x\", \"n\"]", "args = [\"18446744073709551615\", inf, -nan, 0.1]", &[]),
("type = \"f32\"\nlen = \"n\"\noutput = true", "type = [\"f32\", \"f64\"]\nlen = \"n\"\noutput = true\ninit = { file = \"x.npy\" }", &[
    "9:17: file `x.npy`: type f32, not [f32 at 0, f64 at 8] of 16 bytes; expected type [f32 at 0, f64 at 8] of 16 bytes; help: give `numpy.dtype` these `offsets` and this `itemsize`",
]),
("bx = [32, 64]", "bx = [32, 64]\nby = [\"n\", \"n / 0\"]\nconstraints = 3\ndefault = 4", &[
    "16:13: division by zero; expected a divisor other than 0",
    "17:15: `constraints` is an integer; expected a list of expressions",
    "18:11: `default` is an integer; expected a table such as `{ bx = 64 }`",
]),
("n = 16", "n = \"\"\"n\n+ 1\"\"\"", &[
    "3:5: size `n` used before its definition; expected an earlier size",
]),
("n = 16", "n = 2024-01-01", &[
    "3:5: size `n` is a date; expected a number or an expression",
]),
]
