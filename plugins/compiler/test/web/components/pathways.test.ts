import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { webGeneration } from '#web'
import { emitted, webModuleOf } from './emitted.ts'

const examples = new URL('../../../../../examples/language/', import.meta.url)
const own = ['board.vox', 'everything.vox'].map(name => new URL(name, import.meta.url))
const sources = [
  ...readdirSync(examples)
    .filter(name => name.endsWith('.vox'))
    .map(name => new URL(name, examples)),
  ...own
]

for (const url of sources) {
  t.test(`${url.pathname.split('/').at(-1)} has the same output from its web IR and from the program`, t => {
    const source = readFileSync(url, 'utf8')
    const lines: string[] = []
    const from = emitted(source, { trace: line => lines.push(line) }, true)
    const direct = emitted(source, { reactiveViews: false }, true)
    const blank = (files: Readonly<Record<string, string>>) =>
      Object.entries(files).map(([path, text]) => [path, text.replace(/\s+/g, '')])
    t.same(blank(from.files), blank(direct.files))
    t.same(
      lines.filter(line => !line.endsWith(': from the web IR')),
      []
    )
    t.same(emitted(source, {}, true), emitted(source, {}, true))
    t.end()
  })
}

const TWO_BLOCKS = 'component A() { view: <p>"x"</p> }\nroutes { "/" to A }\nroutes { "/b" to A }\n'
const SETTINGS = {
  webir_validate: true,
  webir_emit_reactive_views: true,
  webir_reactive_trace: false,
  island_mount_v2: false
}

t.test('an invalid web IR fails the build, unless webir_validate is off', t => {
  const lines: string[] = []
  t.same(emitted(TWO_BLOCKS, { trace: line => lines.push(line) }).codes, [
    'web_ir_validate.route.duplicate_contract_id'
  ])
  t.same(lines, ['A: direct'])
  t.same(emitted(TWO_BLOCKS, { validate: false }).codes, [])
  t.end()
})

t.test('settings select whether views are generated from the web IR', t => {
  const web = webModuleOf('component A() { view: <p>"x"</p> }')
  const run = (settings: Partial<typeof SETTINGS>) => {
    const [traced, warned]: [string[], string[]] = [[], []]
    const generation = webGeneration(
      () => ({ ...SETTINGS, ...settings }),
      line => traced.push(line),
      message => warned.push(message)
    )
    generation.components(web)
    generation.components(web)
    return { traced, warned, ir: JSON.parse(generation.webIr(web)) }
  }
  t.match(run({}), { traced: [], warned: [], ir: { version: 'V0_1', view_roots: [['A', 1]] } })
  t.same(run({ webir_reactive_trace: true }).traced, ['A: from the web IR', 'A: from the web IR'])
  t.same(run({ webir_reactive_trace: true, webir_emit_reactive_views: false }).traced, ['A: direct', 'A: direct'])
  const { warned } = run({ island_mount_v2: true })
  t.equal(warned.length, 1)
  t.match(warned[0], 'SVC_ISLAND_MOUNT_V2')
  t.end()
})
