import { type KernelAdmin, type KernelPort, kernelPort, mcpTools } from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, t as schema } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { mutationKindOf } from '#threads'

const operation = (id: string, effect: 'read' | 'write' | 'destructive', mcp: boolean | { name: string }) =>
  defineOperation({ id, summary: id, input: schema.object({}), output: schema.object({}), effect, expose: { mcp } })

const look = operation('demo.look', 'read', true)
const save = operation('demo.save', 'write', { name: 'svc_demo_save' })
const burn = operation('demo.burn', 'destructive', false)

t.test('the kind of a tool is declared by its operation or by the tool', async t => {
  let port: KernelPort | undefined
  const demo = definePlugin({
    name: 'demo',
    requires: { port: kernelPort },
    operations: [look, save, burn],
    activate(ctx, deps) {
      port = deps.port
      for (const each of [look, save, burn]) ctx.implement(each, () => ({}))
      const tool = { description: '', input: {}, call: () => ({ content: [] }) }
      ctx.contribute(mcpTools, { ...tool, name: 'raw_look', hints: { readOnly: true } })
      ctx.contribute(mcpTools, { ...tool, name: 'raw_burn', hints: { destructive: true } })
      ctx.contribute(mcpTools, { ...tool, name: 'raw' })
    }
  })
  const kernel = await testKernel([demo as Plugin])
  t.teardown(() => kernel.close())
  const kindOf = (tool: string) => mutationKindOf(tool, { port, admin: undefined })
  t.same(['demo_look', 'demo.look', 'svc_demo_save', 'demo.burn'].map(kindOf), [
    'read_only',
    'read_only',
    'write',
    'destructive'
  ])
  t.same(['raw_look', 'raw_burn', 'raw'].map(kindOf), ['read_only', 'destructive', 'write'])
  t.same(['demo_burn', 'nothing', ''].map(kindOf), ['unknown', 'unknown', 'unknown'])
})

t.test('tools of enabled plugins are found, even if they are not loaded', t => {
  const states: Readonly<Record<string, string>> = { on: 'resolved', off: 'disabled' }
  const admin = {
    plugins: () => Object.entries(states).map(([name, state]) => ({ name, state })),
    manifest: (name: string) => ({ operations: [operation(`${name}.look`, 'read', true)] })
  } as unknown as KernelAdmin
  const kindOf = (tool: string) => mutationKindOf(tool, { port: undefined, admin })
  t.same(['on_look', 'off_look'].map(kindOf), ['read_only', 'unknown'])
  t.equal(mutationKindOf('on_look', { port: undefined, admin: undefined }), 'unknown')
  t.end()
})
