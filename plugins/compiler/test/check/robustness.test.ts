import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { check } from '#check'
import { parse } from '#syntax'
import { mutated, randomFrom, tokenSoup } from '../mutated-source.ts'

/** Number of cases, which are the same in every run. Set SVC_TEST_FUZZ_CASES for more. */
const CASES = Number(process.env.SVC_TEST_FUZZ_CASES ?? 2_000)

const examples = new URL('../../../../examples/language/', import.meta.url)
const programs = readdirSync(examples)
  .filter(name => name.endsWith('.vox'))
  .map(name => readFileSync(new URL(name, examples), 'utf8'))

t.test('every parsed source can be checked, and every finding and fix has a span in the file', t => {
  const random = randomFrom(7)
  let found = 0
  for (let index = 0; index < CASES; index++) {
    const program = programs[Math.floor(random() * programs.length)] as string
    const source = random() < 0.3 ? tokenSoup(random) : mutated(program, random)
    const { module } = parse(source, { script: random() < 0.2, allowComponentFunctions: true })
    for (const { code, span, fixes, related } of check(module, { suppressHookLints: false })) {
      found++
      for (const { start, end } of [span, ...fixes.map(fix => fix.span), ...related.map(each => each.span)]) {
        if (start < 0 || start > end || end > source.length)
          t.fail(`the span of ${code} is outside the source\n${source}`)
      }
    }
  }
  t.ok(found > CASES / 10, `only ${found} findings`)
  t.end()
})

t.test('a program of the maximum depth can be checked', t => {
  const sources = [
    `fn f(a: int) { ${'('.repeat(200)}a${')'.repeat(200)} ${'+ a '.repeat(500)}}`,
    `fn f(a: any) { a${'.x()'.repeat(450)} }`,
    `fn f(a: any) { ${'if a { '.repeat(100)}a${' }'.repeat(100)} }`,
    `fn f(a: any) { ${'match a { Some(a) => '.repeat(80)}a${' }'.repeat(80)} }`
  ]
  for (const source of sources) {
    const { module, diagnostics } = parse(source)
    t.same(diagnostics, [])
    check(module, { suppressHookLints: false })
  }
  t.end()
})
