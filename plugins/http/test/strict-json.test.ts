import { strictJsonProbe, strictJsonSuite } from '@svc/contracts/conformance'
import tap from 'tap'
import { operationPlugin } from './echo.ts'
import { openWorld } from './world.ts'

tap.test('a request body is strict JSON', async tap => {
  const world = await openWorld([operationPlugin('probe-json', strictJsonProbe, () => ({ taken: true }))])
  tap.teardown(() => world.close())
  const url = world.url('/v1/strict-json')
  const send = async (body: Buffer): Promise<boolean> => {
    const { status } = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    if (status !== 200 && status !== 400) throw new Error(`status ${status}`)
    return status === 200
  }
  for (const { name, run } of strictJsonSuite(send)) await tap.resolves(run(), name)
})
