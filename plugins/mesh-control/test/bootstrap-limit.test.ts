import t from 'tap'
import { MESH_TOKEN, openWorld } from './world.ts'

t.test('wrong one-time tokens are limited, and do not lock out a new member with the right one', async t => {
  const { post } = await openWorld(t, { mesh: { token: MESH_TOKEN }, control: { bootstrap_token: 'short' } })
  const exchange = async (token: string) => post('/bootstrap/exchange', { bootstrap_token: token })
  const paired = (await post('/x/pair', {}, { token: MESH_TOKEN })).json?.bootstrap_token as string
  const statuses: number[] = []
  for (let index = 0; index < 80; index += 1) statuses.push((await exchange(`guess-${index}`)).status)
  t.equal(statuses[0], 401)
  t.equal(statuses.at(-1), 429)
  t.equal((await exchange('short')).status, 429, 'a short token could be guessed, so it is not compared')
  t.equal((await exchange('x'.repeat(32))).status, 429)
  t.match(await exchange(paired), { status: 200, json: { mesh_token: MESH_TOKEN } })
  t.equal((await exchange(paired)).status, 410, 'once')
})
