import t from 'tap'
import { BUNDLED_MODEL, MODEL_SERVER, startModelServer } from '../../../test/e2e/model-server-process.ts'
import { openFleet } from './open-fleet.ts'

t.test('with the bundled model a task is completed, failed or doubted, whatever the model replies', async t => {
  const server = await startModelServer(t, [MODEL_SERVER, 'serve', '--model', BUNDLED_MODEL, '--port', '0'])
  const { submit, until, events } = await openFleet(t, {
    url: server.url,
    client: { model: 'vox-tiny' },
    fleet: { output_tokens: 400, phase_timeout_ms: 60_000 }
  })
  const task = await submit({ description: 'Write a greeting', hints: { complexity: 1 } })
  const { status } = await until(task, 'Completed', 'Failed', 'Doubted')
  t.comment(JSON.stringify(status))
  if (status.kind === 'Failed')
    t.match(status.reason, /decision is invalid, even after a second request|gave up|context/)
  const streamed = events.flatMap(({ kind }) => (kind.type === 'token_streamed' ? [kind.text] : []))
  t.match(streamed.join(''), /\w/)
  t.ok(events.some(({ kind }) => kind.type === 'llm_call_completed' && kind.completion_tokens > 0))
})
