import t from 'tap'
import { fakeServer } from '../../inference-client/test/fake-server.ts'
import { openWorld, type World } from './open-providers.ts'
import { failing, openAi, providerServer } from './provider-servers.ts'

const COLUMNS = 'agent_id, session_id, provider, model, input_tokens, output_tokens, cost_usd'

const rounded = (value: number): number => Number(value.toFixed(9))

/** Waits until there are as many rows as expected: they are written in the background. */
async function rowsOf({ store }: World, count: number) {
  for (;;) {
    const { rows } = await store.query(`SELECT ${COLUMNS} FROM cost_records ORDER BY id`)
    if (rows.length >= count) return rows.map(row => row.map(each => (typeof each === 'number' ? rounded(each) : each)))
    await new Promise(setImmediate)
  }
}

t.test('each answer is one row of cost_records, of a local and of a hosted model', async t => {
  const { url } = await fakeServer(t)
  const groq = await providerServer(t, openAi('groq'))
  const world = await openWorld(t, { local: url, settings: { groq_api_key: 'g', groq_url: groq.url } })
  await world.ask({ purpose: { session: 's1', agent: 'A-07' } })
  await world.ask({ model: 'groq/openai/gpt-oss-20b', purpose: { session: 's2' } })
  await world.kernel.callById('inference.chat', { prompt: 'one two' })
  await world.ask({ purpose: { session: 's3', charged: true } })
  await world.ask()
  t.same(await rowsOf(world, 4), [
    ['7', 's1', 'ollama', 'toy', 7, 3, 0],
    ['0', 's2', 'groq', 'openai/gpt-oss-20b', 1_000, 100, 0.000105],
    ['0', null, 'ollama', 'toy', 7, 3, 0],
    ['0', null, 'ollama', 'toy', 7, 3, 0]
  ])
})

t.test('a failed answer is no row', async t => {
  const groq = await providerServer(t, openAi('groq'))
  const world = await openWorld(t, { settings: { groq_api_key: 'g', groq_url: groq.url, profile: 'cloud_compatible' } })
  const model = 'groq/openai/gpt-oss-20b'
  await world.ask({ model, purpose: { session: 'before' } })
  groq.reply = failing(400, { message: 'no' })
  await t.rejects(world.ask({ model, purpose: { session: 'failed' } }), { code: 'ICL_REFUSED' })
  groq.reply = openAi('groq')
  // Rows are written in the order of the answers.
  await world.ask({ model, purpose: { session: 'after' } })
  const sessions = (await rowsOf(world, 2)).map(([, session]) => session)
  t.same(sessions, ['before', 'after'])
})

t.test('a database that fails does not fail an answer', async t => {
  const { url } = await fakeServer(t)
  const world = await openWorld(t, { local: url })
  await world.store.execute('DROP TABLE cost_records')
  t.equal((await world.ask()).text, 'hello')
  t.equal((await world.ask()).text, 'hello')
})
