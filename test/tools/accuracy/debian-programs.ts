/** Programs of Debian that burn CPU, of many languages and makers: what to start, and the packages that bring it. */

/** A program, as a shell starts it in a folder of its own. */
export interface DebianProgram {
  readonly name: string;
  /** What its hot code is written in. */
  readonly language: string;
  /** Packages of Debian 12. */
  readonly packages: readonly string[];
  /** Run once, before; its files stay in the folder. */
  readonly prepare?: string;
  /** Run again and again while it is sampled; `exec` where it goes on by itself. */
  readonly command: string;
}

/** Text of some 40 MB that compresses as sources do. */
const TEXT =
  "find /usr/include /usr/share/perl -type f | sort | xargs cat | head -c 40000000 > text";

/** Two seconds of a moving picture with sound. */
const VIDEO =
  "ffmpeg -v error -y -f lavfi -i testsrc2=s=640x360:d=2 -f lavfi -i sine=d=2 -c:v ffv1 clip.mkv";

const SOUND = "sox -n -r 44100 -c 2 sound.wav synth 30 pinknoise";

const C_SOURCE = `find /usr/include -maxdepth 1 -name '*.h' | grep -E '/(std|string|math|time|unistd|signal|pthread)' | sed 's/.*/#include "&"/' > unit.c; for i in $(seq 400); do echo "int f$i(int a, int b) { int s = 0; for (int k = 0; k < a; k++) s += k * b ^ (s >> $((i % 7 + 1))); return s; }"; done >> unit.c`;

const CXX_SOURCE = `printf '%s\\n' '#include <regex>' '#include <map>' '#include <string>' 'std::map<std::string, int> count; int main(int c, char **v) { return std::regex_match(v[0], std::regex("a+b*")) + count[v[0]]; }' > unit.cpp`;

export const DEBIAN_PROGRAMS: readonly DebianProgram[] = [
  {
    name: "gcc",
    language: "C++",
    packages: ["gcc"],
    prepare: C_SOURCE,
    command: "gcc -O2 -c -o unit.o unit.c",
  },
  {
    name: "clang",
    language: "C++",
    packages: ["clang-19", "g++"],
    prepare: CXX_SOURCE,
    command: "clang++-19 -O2 -c -o unit.o unit.cpp",
  },
  {
    name: "rustc",
    language: "Rust, C++",
    packages: ["rustc"],
    prepare: `echo 'fn main() { println!("{}", std::env::args().count()) }' > one.rs`,
    command: "rustc -O one.rs",
  },
  {
    name: "go build",
    language: "Go",
    packages: ["golang-go"],
    prepare: `printf 'package main\\nimport "fmt"\\nfunc main() { fmt.Println(1) }\\n' > one.go`,
    command: "GOCACHE=$PWD/cache GOPATH=$PWD/go go build -a -o one one.go",
  },
  {
    name: "ghc",
    language: "Haskell",
    packages: ["ghc"],
    prepare: `printf 'import qualified Data.Map as M\\nmain = print (M.size (M.fromList (zip (map show [1..1000::Int]) [1::Int ..])))\\n' > One.hs`,
    command: "ghc -O2 -fforce-recomp -v0 One.hs",
  },
  {
    name: "ocamlopt",
    language: "OCaml",
    packages: ["ocaml-nox"],
    prepare: `for i in $(seq 300); do echo "let rec f$i n acc = if n = 0 then acc else f$i (n - 1) (List.map (fun x -> x + $i) (n :: acc))"; done > unit.ml`,
    command: "ocamlopt -c unit.ml",
  },
  {
    name: "javac",
    language: "Java",
    packages: ["openjdk-17-jdk-headless"],
    prepare: `{ echo 'import java.util.*; public class One {'; for i in $(seq 300); do echo "static Map<String, List<Integer>> f$i(int n) { Map<String, List<Integer>> m = new HashMap<>(); for (int k = 0; k < n; k++) m.computeIfAbsent(\\"k\\" + k, x -> new ArrayList<>()).add(k); return m; }"; done; echo '}'; } > One.java`,
    command: "javac One.java",
  },
  {
    name: "a Fortran program",
    language: "Fortran",
    packages: ["gfortran"],
    prepare: `printf '%s\\n' 'program heat' 'implicit none' 'real(8) :: a(300,300), b(300,300)' 'integer :: i' 'call random_number(a)' 'do i = 1, 400' 'call step(a, b)' 'a = matmul(b, a) / 300' 'end do' 'print *, sum(a)' 'contains' 'subroutine step(x, y)' 'real(8), intent(in) :: x(:,:)' 'real(8), intent(out) :: y(:,:)' 'y = cshift(x, 1, 1) + cshift(x, -1, 1) + sin(x)' 'end subroutine' 'end program' > heat.f90; gfortran -O2 -o heat heat.f90`,
    command: "./heat",
  },
  {
    name: "a Haskell program",
    language: "Haskell",
    packages: ["ghc"],
    prepare: `printf '%s\\n' 'import qualified Data.Map.Strict as M' 'count :: Int -> M.Map Int Int' 'count n = foldr (\\\\k -> M.insertWith (+) (k * 7919 \`mod\` 5003) k) M.empty [1 .. n]' 'main :: IO ()' 'main = print (M.foldl'"'"' (+) 0 (count 3000000))' > Count.hs; ghc -O1 -v0 Count.hs`,
    command: "./Count",
  },
  {
    name: "an OCaml program",
    language: "OCaml",
    packages: ["ocaml-nox"],
    prepare: `printf '%s\\n' 'module M = Map.Make (Int)' 'let rec build n m = if n = 0 then m else build (n - 1) (M.add (n * 7919 mod 50021) n m)' 'let () = for _ = 1 to 20 do print_int (M.cardinal (build 500000 M.empty)) done' > tree.ml; ocamlfind ocamlopt -package str -o tree tree.ml 2>/dev/null || ocamlopt -o tree tree.ml`,
    command: "./tree",
  },
  {
    name: "a Rust program",
    language: "Rust",
    packages: ["rustc"],
    prepare: `printf '%s\\n' 'use std::collections::BTreeMap;' 'fn main() { let mut m = BTreeMap::new(); for k in 0u64..5_000_000 { *m.entry(k.wrapping_mul(2654435761) % 100_003).or_insert_with(String::new) = k.to_string(); } println!("{}", m.len()); }' > tree.rs; rustc -O tree.rs`,
    command: "./tree",
  },
  {
    name: "a Go program",
    language: "Go",
    packages: ["golang-go"],
    prepare: `printf '%s\\n' 'package main' 'import ("fmt"; "sort"; "strings")' 'func words(n int) []string { w := make([]string, n); for i := range w { w[i] = strings.Repeat(fmt.Sprint(i*7919%10007), 3) }; return w }' 'func main() { for i := 0; i < 50; i++ { w := words(100000); sort.Strings(w); fmt.Println(len(w)) } }' > words.go; GOCACHE=$PWD/cache GOPATH=$PWD/go go build -o words words.go`,
    command: "./words",
  },
  {
    name: "python3",
    language: "C",
    packages: ["python3"],
    command: `exec python3 -c 'import json
while True: json.loads(json.dumps([{"a": list(range(100)), "b": str(k)} for k in range(100)], indent=1))'`,
  },
  {
    name: "ruby",
    language: "C",
    packages: ["ruby"],
    command:
      "exec ruby -e 'loop { (1..2000).map { |k| k.to_s * 3 }.sort.group_by(&:size).transform_values(&:count) }'",
  },
  {
    name: "php",
    language: "C",
    packages: ["php-cli"],
    command: `exec php -r 'while (true) { $a = []; for ($k = 0; $k < 5000; $k++) $a[md5((string)$k)] = $k; ksort($a); }'`,
  },
  {
    name: "lua",
    language: "C",
    packages: ["lua5.4"],
    command: `exec lua5.4 -e 'while true do local t = {} for k = 1, 5000 do t[k] = tostring(k * 7919 % 5003) end table.sort(t) end'`,
  },
  {
    name: "luajit",
    language: "assembly, generated",
    packages: ["luajit"],
    command: `exec luajit -e 'while true do local t = {} for k = 1, 5000 do t[k] = k * 7919 % 5003 end table.sort(t) end'`,
  },
  {
    name: "guile",
    language: "C, generated",
    packages: ["guile-3.0"],
    command: `exec guile -c '(let loop () (sort (map (lambda (k) (modulo (* k 7919) 5003)) (iota 5000)) <) (loop))'`,
  },
  {
    name: "tclsh",
    language: "C",
    packages: ["tcl"],
    prepare:
      "echo 'while 1 { set l {}; for {set k 0} {$k < 5000} {incr k} {lappend l [expr {$k * 7919 % 5003}]}; lsort -integer $l }' > loop.tcl",
    command: "exec tclsh loop.tcl",
  },
  {
    name: "gawk",
    language: "C",
    packages: ["gawk"],
    command: `exec gawk 'BEGIN { while (1) { for (k = 0; k < 5000; k++) a[k % 97] = a[k % 97] + length(k "x"); gsub(/[0-4]+/, "y", a[3]) } }'`,
  },
  {
    name: "bash",
    language: "C",
    packages: ["bash"],
    command:
      "exec bash -c 'while :; do a=(); for k in {1..500}; do a+=($((k * 7919 % 503))); done; done'",
  },
  {
    name: "erlang",
    language: "C++, generated",
    packages: ["erlang-base"],
    command:
      "exec erl -noshell -eval 'F = fun(F) -> lists:sort([K * 7919 rem 5003 || K <- lists:seq(1, 5000)]), F(F) end, F(F).'",
  },
  {
    name: "sbcl",
    language: "Lisp, generated",
    packages: ["sbcl"],
    command: `exec sbcl --noinform --eval '(loop (sort (loop for k below 5000 collect (mod (* k 7919) 5003)) (function <)))'`,
  },
  {
    name: "swipl",
    language: "C",
    packages: ["swi-prolog-nox"],
    command: `exec swipl -g "repeat, numlist(1, 5000, L), foldl([X,A,B]>>(B is (A + X * 7919) mod 5003), L, 0, _), fail" -t halt`,
  },
  {
    name: "java",
    language: "Java, generated",
    packages: ["openjdk-17-jdk-headless"],
    prepare: `printf '%s\\n' 'import java.util.*;' 'public class Burn { public static void main(String[] a) { while (true) { TreeMap<String, Integer> m = new TreeMap<>(); for (int k = 0; k < 5000; k++) m.merge(Integer.toString(k * 7919 % 5003), 1, Integer::sum); } } }' > Burn.java; javac Burn.java`,
    command: "exec java Burn",
  },
  {
    name: "R",
    language: "C, Fortran",
    packages: ["r-base-core"],
    command:
      "exec Rscript -e 'repeat { m <- matrix(runif(40000), 200); s <- solve(m); l <- lm(m[,1] ~ m[,2:9]) }'",
  },
  {
    name: "gforth",
    language: "C, generated",
    packages: ["gforth"],
    command: `exec gforth-fast -e ': burn 0 begin 1+ dup 7919 * 5003 mod drop again ; burn'`,
  },
  {
    name: "sqlite3",
    language: "C",
    packages: ["sqlite3"],
    command: `sqlite3 :memory: "with recursive n(k) as (select 1 union all select k + 1 from n where k < 300000) select count(*), group_concat(distinct k % 97) from n order by 1;" > /dev/null`,
  },
  {
    name: "postgres",
    language: "C",
    packages: ["postgresql", "postgresql-contrib"],
    prepare: `rm -rf data; chmod 755 .; mkdir data; chown postgres data; B=$(ls -d /usr/lib/postgresql/*/bin); cd /; setpriv --reuid postgres --regid postgres --clear-groups $B/initdb -D "$OLDPWD/data" -A trust -N > /dev/null`,
    command: `B=$(ls -d /usr/lib/postgresql/*/bin); D=$PWD/data; cd /; setpriv --reuid postgres --regid postgres --clear-groups $B/postgres -D $D -k $D -c listen_addresses= & cd $D; until setpriv --reuid postgres --regid postgres --clear-groups $B/pgbench -h $D -q -i -s 2 postgres > /dev/null 2>&1; do sleep 0.2; done; exec setpriv --reuid postgres --regid postgres --clear-groups $B/pgbench -h $D -S -c 4 -T 600 postgres > /dev/null`,
  },
  {
    name: "redis",
    language: "C",
    packages: ["redis-server", "redis-tools"],
    command: `redis-server --port 0 --unixsocket $PWD/redis.sock --save "" > /dev/null & sleep 0.5; exec redis-benchmark -s redis.sock -q -l -c 10 -P 16 > /dev/null`,
  },
  {
    name: "nginx",
    language: "C",
    packages: ["nginx-light", "apache2-utils"],
    prepare: `printf '%s\\n' 'daemon off; worker_processes 2; error_log error.log; pid nginx.pid;' 'events {}' 'http { access_log off; server { listen 127.0.0.1:18480; location / { return 200 "hello"; } } }' > nginx.conf`,
    command:
      "nginx -p $PWD -e error.log -c $PWD/nginx.conf & sleep 0.5; while :; do ab -q -n 100000 -c 20 http://127.0.0.1:18480/ > /dev/null; done",
  },
  {
    name: "xz",
    language: "C",
    packages: ["xz-utils"],
    prepare: TEXT,
    command: "xz -6 -k -c text > /dev/null",
  },
  {
    name: "zstd",
    language: "C, assembly",
    packages: ["zstd"],
    prepare: TEXT,
    command: "zstd -q -12 -c text > text.zst; zstd -q -d -c text.zst > /dev/null",
  },
  {
    name: "7z",
    language: "C++, assembly",
    packages: ["p7zip-full"],
    prepare: TEXT,
    command: "7z b -md=20 > /dev/null",
  },
  {
    name: "brotli",
    language: "C",
    packages: ["brotli"],
    prepare: TEXT,
    command: "brotli -q 6 -c text > /dev/null",
  },
  {
    name: "bzip2",
    language: "C",
    packages: ["bzip2"],
    prepare: TEXT,
    command: "bzip2 -c text > /dev/null",
  },
  {
    name: "ffmpeg (x264)",
    language: "C, assembly",
    packages: ["ffmpeg"],
    prepare: VIDEO,
    command: "ffmpeg -v error -y -i clip.mkv -c:v libx264 -c:a aac out.mp4",
  },
  {
    name: "ImageMagick",
    language: "C",
    packages: ["imagemagick"],
    prepare: "convert -size 800x600 plasma:fractal picture.png",
    command: "convert picture.png -blur 0x4 -resize 150% -modulate 90,120 out.jpg",
  },
  {
    name: "lame",
    language: "C, assembly",
    packages: ["lame", "sox"],
    prepare: SOUND,
    command: "lame --quiet sound.wav out.mp3",
  },
  {
    name: "flac",
    language: "C",
    packages: ["flac", "sox"],
    prepare: SOUND,
    command: "flac -s -8 -f -o out.flac sound.wav",
  },
  {
    name: "openssl",
    language: "C, assembly",
    packages: ["openssl"],
    command: "openssl speed -seconds 1 rsa2048 sha256 aes-256-gcm > /dev/null 2>&1",
  },
  {
    name: "git",
    language: "C",
    packages: ["git"],
    prepare:
      "git init -q repository 2>/dev/null; cd repository; cp -r /usr/include/linux . ; git add . ; git -c user.name=a -c user.email=a@b commit -q -m one",
    command:
      "cd repository; git repack -q -a -d -f --depth=50 --window=50; git fsck --full 2> /dev/null",
  },
  {
    name: "sort",
    language: "C",
    packages: ["coreutils"],
    prepare: TEXT,
    command: "sort text > /dev/null",
  },
  {
    name: "jq",
    language: "C",
    packages: ["jq"],
    command: `jq -n '[range(200000) | {a: ., b: tostring}] | group_by(.a % 97) | map(length) | add' > /dev/null`,
  },
  {
    name: "z3",
    language: "C++",
    packages: ["z3"],
    prepare: `{ for i in $(seq 9); do echo "(declare-const x$i (_ BitVec 24))"; done; for i in $(seq 8); do echo "(assert (= (bvmul x$i x$((i + 1))) (bvadd x$i #x00$(printf %04x $((i * 7919))))))"; done; echo '(check-sat)'; } > one.smt2`,
    command: "timeout 60 z3 one.smt2 > /dev/null",
  },
  {
    name: "stockfish",
    language: "C++",
    packages: ["stockfish"],
    command: "/usr/games/stockfish bench 16 2 13 > /dev/null 2>&1",
  },
  {
    name: "povray",
    language: "C++",
    packages: ["povray"],
    prepare: `printf '%s\\n' '#version 3.7;' 'global_settings { assumed_gamma 1 }' 'camera { location <0, 2, -6> look_at 0 }' 'light_source { <5, 9, -5> color rgb 1 }' '#for (I, 0, 60) sphere { <mod(I, 8) - 4, mod(I, 5) - 2, I / 10>, 0.5 pigment { granite } finish { reflection 0.3 } } #end' > scene.pov`,
    command: "povray -D -W320 -H240 +A0.1 -GA +Iscene.pov +Oout.png 2> /dev/null",
  },
  {
    name: "librsvg",
    language: "Rust",
    packages: ["librsvg2-bin"],
    prepare: `{ echo '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="600"><filter id="b"><feGaussianBlur stdDeviation="5"/></filter>'; for i in $(seq 200); do echo "<circle cx='$((i * 37 % 800))' cy='$((i * 53 % 600))' r='40' fill='#$((i % 10))8f' filter='url(#b)' opacity='0.5'/>"; done; echo '</svg>'; } > picture.svg`,
    command: "rsvg-convert picture.svg > /dev/null",
  },
];
