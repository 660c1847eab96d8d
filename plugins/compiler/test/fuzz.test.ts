import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { Parser, parse } from '#syntax'
import { flaw } from './flaw.ts'
import { mutated, type Random, randomFrom, tokenSoup } from './mutated-source.ts'

/** Number of cases, which are the same in every run. Set SVC_TEST_FUZZ_CASES for more. */
const CASES = Number(process.env.SVC_TEST_FUZZ_CASES ?? 4_000)

const examples = new URL('../../../examples/language/', import.meta.url)
const programs = readdirSync(examples)
  .filter(name => name.endsWith('.vox'))
  .map(name => readFileSync(new URL(name, examples), 'utf8'))

function nextSource(random: Random): string {
  const program = programs[Math.floor(random() * programs.length)] as string
  return random() < 0.4 ? tokenSoup(random) : mutated(program, random)
}

t.setTimeout(600_000)

t.test('all stages up to the IR handle every generated source', async t => {
  const random = randomFrom(20_260)
  let clean = 0
  for (let index = 0; index < CASES; index++) {
    const source = nextSource(random)
    const script = random() < 0.2
    const found = flaw(source, script)
    if (found !== null) t.fail(`${found}\n--- source:\n${source}`)
    else clean++
  }
  t.equal(clean, CASES)
})

t.test('the parser reads each token about once, so that its time is linear', async t => {
  const random = randomFrom(20_260)
  const { advance, moveTo } = Parser.prototype
  let reads = 0
  t.teardown(() => Object.assign(Parser.prototype, { advance, moveTo }))
  Parser.prototype.advance = function (this: Parser): void {
    reads++
    advance.call(this)
  }
  Parser.prototype.moveTo = function (this: Parser, position: number): void {
    reads++
    moveTo.call(this, position)
  }
  let tokens = 0
  for (let index = 0; index < CASES; index++) {
    const source = nextSource(random)
    tokens += parse(source, { script: random() < 0.2 }).tokens.length
  }
  t.ok(reads <= 1.05 * tokens, `${reads} reads of ${tokens} tokens`)
})
