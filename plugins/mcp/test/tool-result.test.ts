import { type McpToolset, mcpTools, mcpToolset } from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, ref, t as s } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import mcp from '#plugin'
import { ERAS, startMcp, textOf } from './start-mcp.ts'

const find = defineOperation({
  id: 'shop.find',
  summary: 'Find a thing',
  input: s.object({ id: s.integer({ minimum: 1 }) }),
  output: s.object({ name: s.string(), facts: s.object({ shelf: s.integer() }) }),
  errors: { SHOP_NOTHING: { message: 'the thing does not exist', status: 404 } },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_find',
      title: 'Finder',
      aliases: ['find', 'svc_look'],
      result: 'tool-result',
      meta: 'facts',
      lane: 'data',
      readRole: true
    }
  }
})
const label = defineOperation({
  id: 'shop.label',
  summary: 'Label a thing',
  input: s.object({}),
  output: s.string(),
  expose: { mcp: { name: 'svc_label', result: 'tool-result' } }
})

const price = defineOperation({
  id: 'shop.price',
  summary: 'Set a price',
  input: s.object({ cents: s.integer(), pennies: s.optional(s.integer({ 'x-hidden': true })) }),
  output: s.object({ ok: s.boolean(), message: s.string() }),
  expose: { mcp: { name: 'svc_price', result: 'tool-result', answer: 'message' } }
})

const shop = definePlugin({
  name: 'shop',
  operations: [find, label, price],
  activate(ctx) {
    ctx.implement(find, ({ id }, call) => {
      call.progress(1, 2, 'looking')
      if (id === 7) call.fail('SHOP_NOTHING', 'thing 7 not found', { id })
      return { name: `thing ${id}`, facts: { shelf: id * 2 } }
    })
    ctx.implement(label, () => 'labelled')
    ctx.implement(price, ({ cents, pennies = cents }) => ({ ok: true, message: `costs ${pennies}` }))
  }
})

for (const era of ERAS) {
  t.test(`a tool with the envelope tool-result (${era})`, async t => {
    const { connect } = await startMcp(t, [shop], { output_schemas: 'full' })
    const client = await connect(era)

    t.test('is listed with the schema of the envelope, and its aliases are not', async t => {
      const { tools } = await client.listTools()
      t.same(
        tools.filter(({ name }) => /find|look/.test(name)).map(({ name }) => name),
        ['svc_find']
      )
      t.match(tools.find(({ name }) => name === 'svc_find')?.outputSchema, {
        required: ['success'],
        properties: { data: { properties: { name: { type: 'string' } }, required: ['name'] } },
        additionalProperties: false
      })
    })

    t.test('returns data and meta as structured content and as indented JSON, by its name and its aliases', async t => {
      for (const name of ['svc_find', 'find', 'svc_look']) {
        const result = await client.callTool({ name, arguments: { id: 3 } })
        const envelope = { success: true, data: { name: 'thing 3' }, meta: { shelf: 6 } }
        t.same(result.structuredContent, envelope)
        t.equal(textOf(result), JSON.stringify(envelope, null, 2))
        t.notOk(result.isError)
      }
      t.same((await client.callTool({ name: 'svc_label' })).structuredContent, { success: true, data: 'labelled' })
    })

    t.test('returns one field of the output if the exposure names one', async t => {
      const { tools } = await client.listTools()
      const { inputSchema, outputSchema } = tools.find(({ name }) => name === 'svc_price') ?? {}
      t.match(outputSchema, { properties: { data: { type: 'string' } } })
      t.same(Object.keys(inputSchema?.properties ?? {}), ['cents'], 'a hidden field is not listed')
      const result = await client.callTool({ name: 'svc_price', arguments: { cents: 3, pennies: 4 } })
      t.same(result.structuredContent, { success: true, data: 'costs 4' }, 'a hidden field is accepted')
    })

    t.test('reports failures, invalid arguments and unknown names in the envelope', async t => {
      t.match(await client.callTool({ name: 'find', arguments: { id: 7 } }), {
        isError: true,
        structuredContent: {
          success: false,
          error: 'thing 7 not found',
          meta: { code: 'SHOP_NOTHING', status: 404, data: { id: 7 } }
        },
        _meta: { 'svc/error': { code: 'SHOP_NOTHING' } }
      })
      t.match(await client.callTool({ name: 'svc_find', arguments: { id: 'x' } }), {
        isError: true,
        structuredContent: { success: false, remediation: /svc call shop.find/, meta: { code: 'OPR_INPUT_INVALID' } }
      })
      t.match(await client.callTool({ name: 'svc_nothing' }), {
        isError: true,
        structuredContent: { success: false, error: 'unknown tool: svc_nothing', meta: { code: 'MCP_TOOL_UNKNOWN' } }
      })
      await t.rejects(
        client.callTool({ name: 'nothing' }),
        { code: -32602 },
        'other unknown names are a protocol error'
      )
    })
  })
}

const OWNER = { id: 'o', role: 'owner', scopes: ['*'] }

t.test('another surface lists and calls the same tools', async t => {
  let toolset: { readonly current: McpToolset } | undefined
  const surface = definePlugin({
    name: 'surface',
    requires: { toolset: ref(mcpToolset) },
    activate(ctx, deps) {
      toolset = deps.toolset
      ctx.contribute(mcpTools, {
        name: 'asks',
        description: 'Needs a client',
        input: { type: 'object' },
        requires: { sampling: {} },
        call: () => ({ content: [] })
      })
      ctx.contribute(mcpTools, {
        name: 'insists',
        description: 'Requests input without a declaration',
        input: { type: 'object' },
        call: () => ({ resultType: 'input_required', state: 1 })
      })
    }
  })
  const kernel = await testKernel([mcp as Plugin, shop, surface])
  t.teardown(() => kernel.close())
  const { current } = toolset as { readonly current: McpToolset }
  t.match(
    current.tools(OWNER).find(({ name }) => name === 'svc_find'),
    { aliases: ['find', 'svc_look'], lane: 'data', tier: 'core', readRole: true, readOnly: true, plugin: 'shop' }
  )
  t.equal(current.canonical('find'), 'svc_find')
  t.equal(current.canonical('nothing'), null)
  const only = { ...OWNER, tools: new Set(['svc_label']) }
  t.same(
    current.tools(only).map(({ name }) => name),
    ['svc_label']
  )
  t.equal(await current.call('find', { id: 1 }, { principal: only }), null)
  t.same(
    current.tools({ id: 'r', role: 'read', scopes: ['*'] }).map(({ name }) => name),
    ['svc_find']
  )

  const seen: unknown[] = []
  const result = await current.call(
    'find',
    { id: 1 },
    { principal: OWNER, onProgress: (...progress) => seen.push(progress) }
  )
  t.match(result, { structuredContent: { success: true, data: { name: 'thing 1' } } })
  t.same(seen, [[1, 2, 'looking']])
  t.match(await current.call('asks', {}, { principal: OWNER }), { isError: true, content: [{ text: /sampling/ }] })
  t.match(await current.call('insists', {}, { principal: OWNER }), {
    isError: true,
    content: [{ text: /requests input from its client/ }]
  })

  let changes = 0
  const end = current.onChange(() => {
    changes += 1
  })
  await kernel.replace(
    definePlugin({ ...shop, operations: [find], activate: ctx => ctx.implement(find, () => null as never) })
  )
  t.equal(changes, 1)
  end()
  await kernel.replace(shop)
  t.equal(changes, 1)
})

t.test('a name or alias may be used only once', async t => {
  const other = (name: string, aliases: string[]): Plugin => {
    const op = defineOperation({
      id: 'other.op',
      summary: 'x',
      input: s.object({}),
      output: s.object({}),
      expose: { mcp: { name, aliases } }
    })
    return definePlugin({ name: 'other', operations: [op], activate: ctx => ctx.implement(op, () => ({})) })
  }
  for (const plugin of [other('find', []), other('x', ['find']), other('x', ['svc_find']), other('x', ['y', 'y'])]) {
    await t.rejects(testKernel([mcp as Plugin, shop, plugin]), { code: 'KRN_CONFLICT', message: /conflict on tool / })
  }
  await t.rejects(testKernel([mcp as Plugin, other('x', ['a b'])]), { code: 'MCP_TOOL_NAME_INVALID' })
})
