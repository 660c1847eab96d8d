import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, shown } from '../run-program.ts'

/** Output of a program with the path of an empty folder. */
function printed(folder: string, body: string): readonly string[] {
  const { lines, code, error } = run(`fn main() {\n    let folder = ${JSON.stringify(folder)}\n${body}\n}\n`)
  if (code !== null) throw error
  return lines
}

t.test('csv is read as rows or as records, and written with the necessary quotes', async t => {
  const text = JSON.stringify('name,note\nAda,"a, ""b"""\nBob,\n')
  t.equal(shown(`std.csv.parse(${text}).unwrap().at(1).unwrap().at(1).unwrap()`), 'a, "b"')
  t.equal(shown(`std.csv.parse_records(${text}).unwrap().at(0).unwrap().get_str("name").unwrap()`), 'Ada')
  t.equal(shown('std.csv.render([["a", "b,c"], [1, true]]).unwrap()'), 'a,"b,c"\n1,true\n')
  t.match(shown(`std.csv.parse("a,\\"b")`), /^Error\(invalid CSV: /)
})

t.test('toml and yaml are read and written, with clear errors', async t => {
  t.equal(
    shown(
      'std.toml.parse("a = 1\\n[b]\\nc = [\\"x\\"]").unwrap().get_object("b").unwrap().get_array("c").unwrap().at(0).unwrap()'
    ),
    'x'
  )
  t.equal(shown('std.toml.parse("big = 9007199254740993").unwrap().get_int("big").unwrap() + 1'), '9007199254740994')
  t.equal(shown('std.toml.render({ a: 1, b: { c: ["x"] } }).unwrap()'), 'a = 1\n\n[b]\nc = [ "x" ]\n')
  t.match(shown('std.toml.parse("a = ")'), /^Error\(invalid TOML: /)
  t.match(shown('std.toml.render([1])'), /^Error\(the value cannot be written as TOML: /)
  t.equal(shown('std.yaml.parse("- a\\n- b: 2").unwrap().at(1).unwrap().get_int("b").unwrap()'), '2')
  t.equal(shown('std.yaml.render([1, { a: "x" }]).unwrap()'), '- 1\n- a: x\n')
  t.match(shown('std.yaml.parse("a: [")'), /^Error\(invalid YAML: /)
})

t.test('YAML that expands to a huge value, or is too deep for its parser, is rejected', async t => {
  const rows = ['a: &a [x,x,x,x,x,x,x,x,x,x]']
  for (const [name, before] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg'].map(pair => [...pair])) {
    rows.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(',')}]`)
  }
  t.match(shown(`std.yaml.parse(${JSON.stringify(rows.join('\n'))})`), /^Error\(invalid YAML: /)
  const deep = JSON.stringify('['.repeat(2_000) + ']'.repeat(2_000))
  t.match(shown(`std.yaml.parse(${deep})`), /^Error\(invalid YAML: more than 100 levels of collections/)
})

t.test('ints in JSON keep all digits, and are written in the wire format', async t => {
  t.equal(shown('std.json.parse("[9223372036854775807]").unwrap().at(0).unwrap()'), '9223372036854775807')
  t.equal(
    shown('std.json.stringify([9223372036854775807, 1.5, 2dec, Some(1), None])'),
    '[9223372036854775807,1.5,"2",1,null]'
  )
  t.equal(shown('std.json.stringify(Circle(2))', 'type Shape = | Circle(r: int) | Dot'), '{"_tag":"Circle","r":2}')
  t.equal(shown('std.json.stringify(fn() 1)'), 'RUN_TYPE')
})

t.test('files can be listed with attributes, found by patterns, and read as bytes', async t => {
  const folder = t.testdir({ 'b.txt': 'bytes', a: { 'c.txt': '' } })
  symlinkSync(join(folder, 'b.txt'), join(folder, 'link'))
  symlinkSync(join(folder, 'nowhere'), join(folder, 'lost'))
  const lines = printed(
    folder,
    `    for entry in std.fs.list_dir_detailed(folder).unwrap() {
        print(entry.name, entry.size, entry.is_dir, entry.is_file, entry.is_symlink)
    }
    print(std.fs.stat(folder + "/b.txt").unwrap().modified_ms > 0, std.fs.stat(folder + "/none").is_err())
    print(len(std.fs.glob(folder + "/**/*.txt").unwrap()))
    print(std.fs.read_bytes(folder + "/b.txt").unwrap())`
  )
  t.match(lines[0], /^a \d+ true false false$/)
  t.same(lines.slice(1, 3), ['b.txt 5 false true false', 'link 5 false true true'])
  t.match(lines[3], /^lost \d+ false false true$/)
  t.same(lines.slice(4), ['true true', '2', '[98, 121, 116, 101, 115]'])
})

t.test('data files are opened and saved by their extension', async t => {
  const folder = t.testdir({})
  const lines = printed(
    folder,
    `    for extension in ["json", "toml", "yaml", "yml"] {
        let path = folder + "/data." + extension
        print(std.io.save(path, { name: "x", list: [1, 2] }).is_ok())
        print(std.io.open(path).unwrap().get_array("list").unwrap().length())
    }
    print(std.io.save(folder + "/rows.csv", [{ a: 1, b: "x,y" }]).is_ok(), std.io.open(folder + "/rows.csv").unwrap().at(0).unwrap().get_str("b").unwrap())
    print(std.io.open(folder + "/none.json").is_err(), std.io.open(folder + "/data.exe"))`
  )
  t.same(lines.slice(0, 9), ['true', '2', 'true', '2', 'true', '2', 'true', '2', 'true x,y'])
  t.match(lines[9], /^true Error\(.*unknown extension; use one of/)
  t.equal(readFileSync(join(folder, 'rows.csv'), 'utf8'), 'a,b\n1,"x,y"\n')
})

t.test('processes can be found, run in a folder with an environment, and read as JSON', async t => {
  const folder = t.testdir({})
  const node = JSON.stringify(process.execPath)
  t.match(shown('std.process.which("node")'), /^Some\(.*node\)$/)
  t.equal(shown('std.process.which("no-such-program-at-all")'), 'None')
  const script = JSON.stringify('console.log(JSON.stringify([process.cwd(), process.env.SHOWN])); process.exitCode = 3')
  t.equal(
    shown(`std.process.run_capture_ex(${node}, ["-e", ${script}], ${JSON.stringify(folder)}, ["SHOWN=yes"]).unwrap()`),
    `{exit: 3, stdout: ["${folder}","yes"]\n, stderr: }`
  )
  t.equal(shown(`std.process.run_ex(${node}, ["-e", ${script}], "/", []).unwrap()`), '3')
  t.equal(shown(`std.process.run_capture_ex(${node}, [], "/", ["=x"])`), 'RUN_ARGUMENTS')
  t.equal(shown(`std.process.run_capture_json(${node}, ["-p", "'[7]'"]).unwrap().at(0).unwrap()`), '7')
  t.match(shown(`std.process.run_capture_json(${node}, ["-e", "process.exit(2)"])`), /ended with code 2/)
  t.equal(shown(`std.process.exec(${node}, ["-e", "0"])`), 'Ok(null)')
  t.match(shown(`std.process.exec(${node}, ["-e", "process.exit(4)"])`), /ended with code 4/)
  t.match(shown(`std.process.spawn_background(${node}, ["-e", "0"])`), /^Ok\(\d+\)$/)
})

t.test('environment variables are set only for this program', async t => {
  t.equal(shown('std.env.set("SVC_TEST_VARIABLE", "x") |> fn(ignored) std.env.get("SVC_TEST_VARIABLE")'), 'Some(x)')
  delete process.env.SVC_TEST_VARIABLE
})

t.test('mobile functions return errors on a computer', async t => {
  t.match(shown('std.mobile.vibrate()'), /^Error\(vibrate needs a mobile device/)
  t.equal(shown('std.mobile.has_camera()'), 'false')
  t.equal(shown('std.mobile.platform()'), process.platform)
})

t.test('a program without the capability fs cannot read files', async t => {
  mkdirSync(join(t.testdir({}), 'x'))
  writeFileSync(join(t.testdirName, 'a.json'), '1')
  for (const call of [
    `std.io.open("${t.testdirName}/a.json")`,
    'std.fs.glob("*")',
    'std.process.which("node")',
    'std.http.get_text("http://127.0.0.1:1/")'
  ]) {
    const { code } = run(`fn main() { print(${call}) }`, { capabilities: [] })
    t.equal(code, 'RUN_CAPABILITY_DENIED', call)
  }
})

t.test('log lines have fields: the members of a record, or one value', async t => {
  const { lines } = run(`
type Item { name: str, price: dec }
fn main() {
    std.log.info("plain")
    std.log.warn("record", { a: 1, big: 9007199254740993, item: Item { name: "x", price: 1.50dec }, none: None })
    std.log.error("map", map_of())
    std.log.debug("list", [1, 2])
    std.log.info("long", { text: "x".repeat(20000) })
}
fn map_of() to Map[str, int] { { "k": 2 } }
`)
  t.same(lines, [
    'info: plain',
    'warn: record {"a":1,"big":"9007199254740993","item":{"name":"x","price":"1.50"},"none":null}',
    'error: map {"k":2}',
    'debug: list {"value":[1,2]}',
    'info: long {"omitted":"fields of 20011 characters; the limit is 16384"}'
  ])
})
