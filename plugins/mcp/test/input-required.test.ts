import type { Client } from '@modelcontextprotocol/client'
import t from 'tap'
import { examplePlugin } from './example-plugin.ts'
import { ERAS, startMcp, textOf } from './start-mcp.ts'

const CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: {} }

/** Makes a client respond to every request that a server may send for these capabilities. */
function answering(client: Client, capabilities: object = CAPABILITIES): Client {
  if ('elicitation' in capabilities) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      const fields = Object.keys(
        (params as { requestedSchema?: { properties?: object } }).requestedSchema?.properties ?? {}
      )
      const values: Record<string, unknown> = { name: 'Ada', color: 'green', ok: true, username: 'ada', email: 'a@b.c' }
      return {
        action: 'accept',
        content: Object.fromEntries(fields.map(field => [field, (values[field] ?? 'x') as string]))
      }
    })
  }
  if ('sampling' in capabilities) {
    client.setRequestHandler('sampling/createMessage', () => ({
      model: 'test',
      role: 'assistant',
      content: { type: 'text', text: 'Paris' }
    }))
  }
  if ('roots' in capabilities) {
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }))
  }
  return client
}

for (const era of ERAS) {
  t.test(`a handler that requests input from a ${era} client is called again with the responses`, async t => {
    const { connect } = await startMcp(t)
    const client = answering(await connect(era, { capabilities: CAPABILITIES }))
    const call = async (name: string, args: Record<string, unknown> = {}): Promise<string> =>
      textOf(await client.callTool({ name, arguments: args }))

    t.equal(await call('test_input_required_result_elicitation'), 'Hello, Ada!')
    t.equal(await call('test_input_required_result_sampling'), 'Paris')
    t.equal(await call('test_input_required_result_list_roots'), 'file:///work')
    t.equal(await call('test_input_required_result_multiple_inputs'), 'Paris Ada, you work in 1 folders')
    t.equal(await call('test_input_required_result_multi_round'), 'Ada likes green', 'state survives a round')
    t.match(await call('test_input_required_result_request_state'), /state-ok: .*"asked"/)
    t.equal(await call('test_sampling', { prompt: 'What?' }), 'LLM response: Paris')
    t.match(await call('test_elicitation', { message: 'Who?' }), /"action":"accept".*"username":"ada"/)
    t.match(await call('test_streaming_elicitation'), /answer: true/)
    const prompt = await client.getPrompt({ name: 'test_input_required_result_prompt' })
    t.match(prompt.messages[0]?.content, { type: 'text', text: /Use this context/ })
  })

  t.test(`the handler is notified if the user declines (${era})`, async t => {
    const { connect } = await startMcp(t)
    const client = await connect(era, { capabilities: CAPABILITIES })
    client.setRequestHandler('elicitation/create', () => ({ action: 'decline' }))
    t.match(textOf(await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } })), /"decline"/)
  })

  t.test(`a handler may ask the user to open a page (${era})`, async t => {
    const { connect } = await startMcp(t, [examplePlugin()])
    const client = await connect(era, { capabilities: { elicitation: { url: {} } } })
    let requested: unknown
    client.setRequestHandler('elicitation/create', ({ params }) => {
      requested = params
      return { action: 'accept' }
    })
    t.equal(textOf(await client.callTool({ name: 'raw_sign_in' })), 'accept')
    t.match(requested, { mode: 'url', message: 'Sign in', url: 'https://example.org/' })
  })

  t.test(`a client receives only input requests that it declared to support (${era})`, async t => {
    const { connect } = await startMcp(t)
    const client = await connect(era)
    const call = client.callTool({ name: 'test_missing_capability' })
    await t.rejects(call, { code: -32021, data: { requiredCapabilities: { sampling: {} } } })
    const able = answering(await connect(era, { capabilities: { sampling: {} } }), { sampling: {} })
    t.equal(textOf(await able.callTool({ name: 'test_missing_capability' })), 'the client can sample')
    t.match(textOf(await able.callTool({ name: 'test_input_required_result_capabilities' })), /got Paris/)
  })
}

t.test('a state is valid only for its tool and principal, and cannot be altered', async t => {
  const { http, post } = await startMcp(t)
  let id = 0
  const call = async (name: string, more: object = {}): Promise<any> => {
    id += 1
    const response = await post(
      {
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: {
          name,
          arguments: {},
          ...more,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': CAPABILITIES
          }
        }
      },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
    )
    return response.json()
  }
  const inputResponses = { confirm: { action: 'accept', content: { ok: true } } }
  const name = 'test_input_required_result_request_state'
  const { result } = await call(name)
  t.match(result, { resultType: 'input_required', requestState: String })
  const { requestState } = result

  t.match(await call(name, { inputResponses, requestState }), { result: { content: [{ text: /state-ok/ }] } })
  const refused = { error: { code: -32602, message: 'Invalid or expired requestState' } }
  t.match(await call(name, { inputResponses, requestState: `${requestState}x` }), refused)
  const [version, body, mac] = requestState.split('.')
  const forged = Buffer.from(Buffer.from(body, 'base64url').toString().replace('asked', 'forged')).toString('base64url')
  t.match(await call(name, { inputResponses, requestState: [version, forged, mac].join('.') }), refused)
  t.match(
    await call('test_input_required_result_tampered_state', { inputResponses, requestState }),
    refused,
    'the state of another tool is rejected'
  )
  http.principal = { id: 'another principal', role: 'owner', scopes: ['*'] }
  t.match(await call(name, { inputResponses, requestState }), refused, 'the state of another principal is rejected')
})
