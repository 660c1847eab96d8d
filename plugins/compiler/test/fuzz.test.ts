import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { check } from '../src/check/check.ts'
import { format } from '../src/format/format.ts'
import { parse } from '../src/syntax/parse.ts'
import { sameSyntax } from '../src/syntax/same-syntax.ts'
import { walk } from '../src/syntax/walk.ts'
import { mutated, type Random, randomFrom, tokenSoup } from './mutated-source.ts'

/** The same in every run; SVC_TEST_FUZZ_CASES tries more. */
const CASES = Number(process.env.SVC_TEST_FUZZ_CASES ?? 10_000)

const examples = new URL('../../../examples/language/', import.meta.url)
const programs = readdirSync(examples)
  .filter(name => name.endsWith('.vox'))
  .map(name => readFileSync(new URL(name, examples), 'utf8'))

function nextSource(random: Random): string {
  const program = programs[Math.floor(random() * programs.length)] as string
  return random() < 0.4 ? tokenSoup(random) : mutated(program, random)
}

/** What is wrong with how `source` was treated; null for nothing. */
function flaw(source: string, script: boolean): string | null {
  const parsed = parse(source, { script })
  const outside = parsed.diagnostics.find(
    ({ span }) => span.start < 0 || span.start > span.end || span.end > source.length
  )
  if (outside !== undefined) return `the place of "${outside.message}" lies outside`
  let crooked: string | null = null
  walk(parsed.module, node => {
    if (node.start > node.end || node.end > source.length) crooked = node.kind
    return true
  })
  if (crooked !== null) return `the place of a ${crooked} lies outside`
  if (parsed.diagnostics.some(({ severity }) => severity === 'error')) return null
  check(parsed.module, { suppressHookLints: false })
  const text = format(parsed)
  const again = parse(text, { script })
  if (!sameSyntax(parsed.module.items, again.module.items)) return `formatted it means something else:\n${text}`
  if (parsed.tokens.comments.length !== again.tokens.comments.length) return `a comment is lost:\n${text}`
  return format(again) === text ? null : `formatted again it is another text:\n${text}`
}

t.test('no text breaks lexer, parser, checks or formatter', async t => {
  const random = randomFrom(20_260)
  let clean = 0
  for (let index = 0; index < CASES; index++) {
    const source = nextSource(random)
    const script = random() < 0.2
    const found = flaw(source, script)
    if (found !== null) t.fail(`${found}\n--- of\n${source}`)
    else clean++
  }
  t.equal(clean, CASES)
})
