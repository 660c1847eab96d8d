import t from 'tap'
import { sampleCalls } from '../../plugins/http/test/sample-calls.ts'
import { makeProject, serve } from './served-project.ts'

/** Errors of a valid input, by the state of the project and its surroundings. */
const BY_STATE = ['MSV_EMBEDDINGS', 'SEV_DELEGATION_INVALID', 'SKG_UNREACHABLE', 'WSP_NOT_REPOSITORY']

t.test('operations that only read accept the inputs that /docs suggests', async t => {
  const server = await serve(t, makeProject(t, {}))
  // Until then, no model can be listed or asked.
  await server.line(/model 'vox-tiny' is ready/)
  const calls = (await sampleCalls(server.url)).filter(
    ({ described }) => described['x-effect'] === 'read' && described['x-scopes'] === undefined
  )
  t.ok(calls.length > 30, `${calls.length} operations`)
  const aborted = new AbortController()
  t.teardown(() => aborted.abort())
  for (const { name, send } of calls) {
    const response = await send(aborted.signal)
    // A stream of events does not end, and an invented id is not found.
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    const text = isStream ? '' : await response.text()
    const isByState = BY_STATE.some(code => text.startsWith(`{"error":{"code":"${code}"`))
    t.ok([200, 404].includes(response.status) || isByState, `${name}: ${response.status} ${text}`)
  }
})
