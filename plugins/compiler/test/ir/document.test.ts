import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { irDocumentSchema } from '@svc/contracts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { lower } from '#ir'
import { irDocument, printIr } from '#root'
import { parse } from '#syntax'
import { mutated, randomFrom, tokenSoup } from '../mutated-source.ts'

const ARRAYS =
  'imports rust_imports functions types routes actors workflows activities server_fns query_fns mutation_fns tables mcp_tools mcp_resources agents'

const examples = new URL('../../../../examples/language/', import.meta.url)
const documents = new URL('fixtures/', import.meta.url)
const names = readdirSync(examples).filter(name => name.endsWith('.vox'))
const published = JSON.parse(
  readFileSync(new URL('../../../../contracts/ir/ir-document.schema.json', import.meta.url), 'utf8')
)
const validate = new Ajv2020().compile(published)

const printed = (source: string, at = new Date(0)): string => printIr(irDocument(parse(source).module, source, at))

t.test('documents are validated against the published schema', t => {
  const { $schema, title, description, ...rest } = published
  t.equal($schema, 'https://json-schema.org/draft/2020-12/schema')
  t.type(title, 'string')
  t.type(description, 'string')
  t.same(rest, JSON.parse(JSON.stringify(irDocumentSchema)))
  t.end()
})

t.test('a document has version, metadata and arrays in a fixed order', t => {
  const source = 'fn f() { "ü" }\n'
  const document = JSON.parse(printed(source, new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678))))
  t.same(Object.keys(document), ['version', 'metadata', 'module'])
  t.equal(document.version, '2.0.0')
  t.equal(document.metadata.generated_at, '2026-01-02T03:04:05.678+00:00')
  t.equal(document.metadata.source_hash, createHash('sha3-256').update(Buffer.from(source)).digest('hex'))
  t.match(document.metadata.compiler_version, /^\d+\.\d+\.\d+/)
  t.equal(Object.keys(document.module).join(' '), `${ARRAYS} web_ir`)
  t.equal(document.module.web_ir, null)
  t.end()
})

t.test('two documents of one program differ only in the time', t => {
  const source = readFileSync(new URL('tables.vox', examples), 'utf8')
  t.equal(printed(source), printed(source))
  const later = printed(source, new Date(1e12))
  t.not(later, printed(source))
  t.equal(later.replace(/"generated_at": "[^"]*"/, ''), printed(source).replace(/"generated_at": "[^"]*"/, ''))
  t.end()
})

t.test('a float is a number in the document, or a syntax error', t => {
  t.match(printed('fn f() { 1.5 }'), '{"FloatLit": [1.5, {"start": 9, "end": 12}]}')
  t.match(parse(`fn f() { ${'9'.repeat(400)}.5 }`).diagnostics, [{ code: 'E0001' }])
  t.end()
})

t.test('undeclared result types are inferred where possible', t => {
  const results = (source: string) => {
    const { module } = JSON.parse(printed(source))
    return [...module.query_fns, ...module.functions].map(({ return_type }) => return_type)
  }
  const table = '@table type A { b: int }\n'
  t.same(results(`${table}@query fn q() { db.A.all() }`), [{ Generic: ['List', [{ Named: 'A' }]] }])
  t.same(results('fn f() { g() } fn g() { [1] } fn h() { print(1) } fn i(x) { x } fn k() { Some(2dec) }'), [
    { Generic: ['List', [{ Named: 'int' }]] },
    { Generic: ['List', [{ Named: 'int' }]] },
    'Unit',
    null,
    { Generic: ['Option', ['Decimal']] }
  ])
  t.end()
})

t.test('ints in a document keep all of their digits', t => {
  t.match(printed('fn f() { 9223372036854775807 }'), '{"IntLit": [9223372036854775807, {"start": 9, "end": 28}]}')
  t.end()
})

for (const name of names) {
  t.test(`${name} has the expected IR document`, t => {
    const text = printed(readFileSync(new URL(name, examples), 'utf8'))
    const file = new URL(name.replace('.vox', '.json'), documents)
    // The compiler's version may change without a change of the document.
    const kept = text.replace(/"compiler_version": "[^"]*"/, '"compiler_version": ""')
    if (process.env.SVC_TEST_UPDATE === '1') writeFileSync(file, kept)
    t.equal(kept, readFileSync(file, 'utf8'))
    t.ok(validate(JSON.parse(text)), JSON.stringify(validate.errors))
    t.end()
  })
}

t.test('every valid source has a document, and every parsed source can be lowered', t => {
  const random = randomFrom(1)
  const programs = names.map(name => readFileSync(new URL(name, examples), 'utf8'))
  let accepted = 0
  for (let index = 0; index < 1_500; index++) {
    const program = programs[Math.floor(random() * programs.length)] as string
    const source = random() < 0.4 ? tokenSoup(random) : mutated(program, random)
    const { module, diagnostics } = parse(source, { script: random() < 0.2 })
    lower(module, source)
    if (diagnostics.some(({ severity }) => severity === 'error')) continue
    accepted++
    const text = printIr(irDocument(module, source, new Date(0)))
    if (!validate(JSON.parse(text))) t.fail(source)
    if (!spansLieWithin(text, Buffer.byteLength(source))) t.fail(`a span is outside ${source}`)
  }
  t.ok(accepted > 50, `only ${accepted} sources were valid`)
  t.end()
})

t.test('programs of the maximum depth have a document', t => {
  const deep = `fn f(a: int) { ${'('.repeat(200)}a${')'.repeat(200)} ${'+ 1 '.repeat(900)}}`
  t.match(printed(deep), '"Add"')
  const chain = `fn f(a: any) { a${'.x()'.repeat(450)} }`
  t.match(printed(chain), '"MethodCall"')
  t.end()
})

t.test('the size of a document is linear in the depth of the program', t => {
  const chain = (calls: number): number => printed(`fn f(a: any) { a${'.x()'.repeat(calls)} }`).length
  t.ok(chain(400) < 5 * chain(100), `${chain(400)} is more than five times ${chain(100)}`)
  t.end()
})

function spansLieWithin(text: string, bytes: number): boolean {
  for (const [, start, end] of text.matchAll(/\{"start": (\d+), "end": (\d+)\}/g)) {
    if (Number(start) > Number(end) || Number(end) > bytes) return false
  }
  return true
}
