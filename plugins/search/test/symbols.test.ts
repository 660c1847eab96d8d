import t from 'tap'
import './built-worker.ts'
import { nameWords, Outlines } from '#indexing'
import { indexOperation, indexStateOperation, queryOperation } from '#root'
import { openSearch } from './open-search.ts'

const outlines = Outlines.open()
const outline = async (path: string, text: string) =>
  (await (await outlines).outline(path, text)).map(
    ({ kind, name, line, endLine }) => `${kind} ${name} ${line}-${endLine}`
  )

t.test('definitions of each language are found, but not those within functions', async t => {
  t.same(
    await outline(
      'a.ts',
      `export function readFile() {\n  const inner = 1\n}\nexport default class Store<A> {\n  get(key: string) {}\n}\ninterface Shape {}\ntype Id = string\nenum Color { Red }\nexport const LIMIT = 3, { a } = b\nnamespace Tools { export function helper() {} }`
    ),
    [
      'function readFile 1-3',
      'class Store 4-6',
      'method get 5-5',
      'interface Shape 7-7',
      'type Id 8-8',
      'enum Color 9-9',
      'constant LIMIT 10-10',
      'module Tools 11-11',
      'function helper 11-11'
    ]
  )
  t.same(await outline('a.js', 'module.exports = 1\nfunction* gen() {}'), ['function gen 2-2'])
  t.same(await outline('a.py', '@wraps\ndef run():\n  def inner(): pass\nclass A:\n  def m(self): pass\n'), [
    'function run 2-3',
    'class A 4-5',
    'function m 5-5'
  ])
  t.same(
    await outline(
      'a.rs',
      'mod m { pub struct S; impl S { fn go(&self) {} } }\ntrait T {}\nmacro_rules! x { () => {} }'
    ),
    ['module m 1-1', 'type S 1-1', 'function go 1-1', 'interface T 2-2', 'macro x 3-3']
  )
  t.same(
    await outline('a.go', 'package a\ntype Point struct {}\nfunc (p Point) Move() {}\nfunc main() {}\nconst Max = 1'),
    ['type Point 2-2', 'method Move 3-3', 'function main 4-4', 'constant Max 5-5']
  )
  t.same(await outline('A.java', 'class A { int f; void go() {} enum E { X } }'), [
    'class A 1-1',
    'method go 1-1',
    'enum E 1-1'
  ])
  t.same(await outline('a.cpp', 'namespace n { class A { void m() {} }; }\nint *find(int a) { return 0; }'), [
    'module n 1-1',
    'class A 1-1',
    'function m 1-1',
    'function find 2-2'
  ])
  t.same(await outline('a.md', '# no code'), [])
})

t.test('broken, deep and long sources yield what can be found in time', async t => {
  t.same(await outline('a.ts', 'function ok() {}\nclass { ((('), ['function ok 1-1'])
  t.type((await outline('a.ts', `${'namespace a { '.repeat(5_000)}`)).length, 'number')
  t.same(await outline('a.ts', `function a() {}\n${' '.repeat(300_000)}`), [])
})

t.test('names are split into words', async t => {
  t.same(nameWords('readHTMLFile'), ['read', 'html', 'file', 'readhtmlfile'])
  t.same(nameWords('MAX_LINE_CHARS'), ['max', 'line', 'chars', 'max_line_chars'])
  t.same(nameWords('main'), ['main'])
})

t.test('symbols are found by words of their names, whole names first, then those near other words', async t => {
  const { kernel, write } = await openSearch(t)
  write({
    'src/cache/store.ts': 'export function openStore() {}\nexport function open() {}\n',
    'src/disk/store.ts': 'export function openStore() {}\n'
  })
  await kernel.call(indexOperation, {})
  t.match(await kernel.call(indexStateOperation, {}), { symbols: 3 })
  const find = async (query: string) =>
    (await kernel.call(queryOperation, { query, corpora: ['symbol_proximity'], verify: false })).hits.map(
      ({ key, line }) => `${key}:${line}`
    )
  t.same((await find('openStore disk')).slice(0, 2), [
    'src/disk/store.ts#openStore:1',
    'src/cache/store.ts#openStore:1'
  ])
  t.same((await find('open cache'))[0], 'src/cache/store.ts#open:2')
  write({ 'src/disk/store.ts': 'export const other = 1\n' })
  await kernel.call(indexOperation, {})
  t.same(await find('openStore disk'), ['src/cache/store.ts#openStore:1', 'src/cache/store.ts#open:2'])
})
