import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import web from '@svc/plugin-web'
import t from 'tap'
import compiler from '#plugin'

t.test('lists the words of the language, which compile', async t => {
  const kernel = await testKernel([compiler, web] as Plugin[])
  t.teardown(() => kernel.close())
  const surface = (await kernel.callById('compiler.surface', {})) as Record<string, any>
  t.ok(surface.keywords.includes('workflow') && surface.decorators.includes('table'))
  t.match(
    surface.functions.find(({ name }: { name: string }) => name === 'len'),
    { min_arguments: 1, max_arguments: 1 }
  )
  t.match(
    surface.functions.find(({ name }: { name: string }) => name === 'print'),
    { max_arguments: null }
  )
  t.ok(surface.std.math.includes('sqrt'))
  const calls = surface.functions
    .filter(({ min_arguments }: { min_arguments: number }) => min_arguments === 1)
    .map(({ name }: { name: string }) => `    let _${name} = ${name}("1")`)
  const types = surface.types.filter(({ form }: { form: string }) => /^[a-z]+$/.test(form))
  const fields = types.map(({ name }: { name: string }) => `fn f_${name}(value: ${name}) {}`)
  const source = [...fields, 'fn main() {', ...calls, '}', ''].join('\n')
  const { diagnostics } = (await kernel.callById('compiler.check', { source })) as {
    diagnostics: { message: string }[]
  }
  t.same(
    diagnostics.filter(({ message }) => /unknown|undefined|not defined/i.test(message)),
    []
  )
})

t.test('shows the stage at which each source of the project fails', async t => {
  const kernel = await testKernel([compiler, web] as Plugin[])
  t.teardown(() => kernel.close())
  const status = (input = {}) => kernel.callById('compiler.pipeline', input)
  t.match(await status(), { ok: true, compiled: 0, sources: 0, failures: [] })
  mkdirSync(join(kernel.root, 'sub'))
  const files = {
    'good.vox': 'fn main() {\n    print("Hello")\n}\n',
    'sub/parse.vox': 'fn main( {\n',
    'sub/check.vox': 'fn main() {\n    print(missing)\n}\n',
    'sub/read.vox': Buffer.from([0xff, 0xfe])
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(kernel.root, path), text)
  t.match(await status(), {
    ok: false,
    compiled: 4,
    sources: 4,
    stages: [
      { stage: 'read', passed: 3, failed: 1 },
      { stage: 'parse', passed: 2, failed: 1 },
      { stage: 'check', passed: 1, failed: 1 },
      { stage: 'lower', passed: 1, failed: 0 }
    ],
    failures: [
      { path: 'sub/check.vox', stage: 'check', line: 2, errors: 1, message: /missing/ },
      { path: 'sub/parse.vox', stage: 'parse', line: Number },
      { path: 'sub/read.vox', stage: 'read', line: null, message: /UTF-8/ }
    ]
  })
  t.match(await status({ limit: 1 }), { ok: true, compiled: 1, sources: 4 })
})
