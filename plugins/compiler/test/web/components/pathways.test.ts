import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { webGeneration, webTreeOf } from '#web'
import { webIrDocument } from '#web-ir'
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
  t.test(`the views of ${url.pathname.split('/').at(-1)} have the values of its web IR`, t => {
    const source = readFileSync(url, 'utf8')
    const { files } = emitted(source, {}, true)
    const web = webModuleOf(source, true)
    const { ir } = webIrDocument(web.module, web.hir, webTreeOf(web.module, source, web.hir))
    const text = Object.values(files).join('\n').replace(/\s+/g, '')
    for (const node of ir?.dom_nodes ?? []) {
      if ('Expr' in node) t.ok(text.includes(node.Expr.ts.replace(/\s+/g, '')), node.Expr.ts)
    }
    t.same(emitted(source, {}, true).files, files, 'a second build has the same output')
    t.end()
  })
}

const TWO_BLOCKS = 'component A() { view: <p>"x"</p> }\nroutes { "/" to A }\nroutes { "/b" to A }\n'
const SETTINGS = {
  webir_validate: true,
  webir_reactive_trace: false,
  island_mount_v2: false
}

t.test('an invalid web IR fails the build, unless webir_validate is off', t => {
  const lines: string[] = []
  t.same(emitted(TWO_BLOCKS, { trace: line => lines.push(line) }).codes, [
    'web_ir_validate.route.duplicate_contract_id'
  ])
  t.same(lines, ['A: from the web IR'])
  t.same(emitted(TWO_BLOCKS, { validate: false }).codes, [])
  t.end()
})

t.test('settings report the views and what has no effect', t => {
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
  const { warned } = run({ island_mount_v2: true })
  t.equal(warned.length, 1)
  t.match(warned[0], 'SVC_ISLAND_MOUNT_V2')
  t.end()
})
