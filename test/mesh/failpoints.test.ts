import { join } from 'node:path'
import type { NamedLease } from '@svc/contracts'
import t, { type Test } from 'tap'
import { openWorld } from '../../plugins/mesh-control/test/world.ts'
import { joinNode, MAILBOX, PLANE_LEASE_MS, PLANE_SECRETS, Plane, wireOptions } from './plane.ts'
import type { Failpoint } from './plane-child.ts'
import { WireStore } from './wire-store.ts'

const UNKNOWN = { code: 'WIRE_UNKNOWN' }
const CLAIM = { max: 1, leaseMs: PLANE_LEASE_MS }
/** Long enough that no lease ends during a test. */
const LEASE_MS = 600_000

t.test('a control plane is killed at each step, and another one goes on', async t => {
  const folder = t.testdir()
  const file = join(folder, 'coordination.db')
  const world = await openWorld(t, {
    control: { jwt_hmac_secret: PLANE_SECRETS.jwtSecret, a2a_lease_ms: LEASE_MS },
    mesh: { token: PLANE_SECRETS.token },
    coordination: { file }
  })
  const survivor = { url: `http://127.0.0.1:${world.port}` }
  for (const node of ['n1', 'n2']) await joinNode(survivor.url, node)
  const [n1, n2] = ['n1', 'n2'].map(node => new WireStore(wireOptions(node, [survivor]))) as [WireStore, WireStore]
  const plane = await Plane.start({ file }, folder, LEASE_MS)
  t.teardown(() => plane.close())
  const victim = new WireStore(wireOptions('n1', [plane]))

  /** Starts the control plane, and kills it at a call that a client makes. The client gets no answer. */
  async function dieAt(t: Test, failpoint: Failpoint, call: () => Promise<unknown>): Promise<void> {
    await plane.start()
    await plane.arm(failpoint)
    const answer = await call().then(
      answer => ({ answer }),
      error => void t.match(error, UNKNOWN)
    )
    if (answer !== undefined) {
      await plane.kill()
      throw new Error(`the request was answered without a call of ${failpoint.method}: ${JSON.stringify(answer)}`)
    }
    await plane.died(failpoint)
  }

  const item = (key: string) => [{ queue: MAILBOX, key, body: JSON.stringify(key) }]
  const isEmpty = async (t: Test): Promise<void> => {
    t.same(await n2.claim(MAILBOX, 'n2', CLAIM), [], 'there is no second message')
    t.equal(await world.store.count(MAILBOX), 0)
  }
  const finish = async (t: Test, id: number, fence: number): Promise<void> => {
    t.same(await n2.ack([{ id, fence }]), [true])
    await isEmpty(t)
  }

  for (const when of ['before', 'after'] as const) {
    t.test(`${when} the commit of a delivery`, async t => {
      await dieAt(t, { method: 'put', when }, () => victim.put(item(`deliver-${when}`)))
      const stored = await world.store.look(MAILBOX, { limit: 10 })
      t.equal(stored.length, when === 'before' ? 0 : 1)
      const [repeated] = await n1.put(item(`deliver-${when}`))
      if (when === 'after') t.equal(repeated?.id, stored[0]?.id, 'the repeated delivery is the same message')
      const [claimed] = await n2.claim(MAILBOX, 'n2', CLAIM)
      t.equal(claimed?.id, repeated?.id)
      await finish(t, claimed?.id as number, claimed?.fence as number)
    })

    t.test(`${when} the commit of a claim`, async t => {
      await n1.put(item(`claim-${when}`))
      await dieAt(t, { method: 'claimAs', when }, () => victim.claim(MAILBOX, 'n1', CLAIM))
      const [other] = await n2.claim(MAILBOX, 'n2', CLAIM)
      t.equal(other !== undefined, when === 'before', 'another node gets it only if it was not claimed')
      const holder = other === undefined ? 'n1' : 'n2'
      // The node that got no answer repeats its request, and gets the message with a new fence.
      const [again] = await n1.claim(MAILBOX, holder, { ...CLAIM, own: true })
      t.equal(again?.holder, holder)
      t.equal(again?.attempts, 2)
      t.same(await n2.claim(MAILBOX, holder === 'n1' ? 'n2' : 'n1', { ...CLAIM, own: true }), [])
      await finish(t, again?.id as number, again?.fence as number)
    })

    t.test(`${when} the commit of an acknowledgement`, async t => {
      await n1.put(item(`ack-${when}`))
      const [claimed] = await n1.claim(MAILBOX, 'n1', CLAIM)
      const token = { id: claimed?.id as number, fence: claimed?.fence as number }
      await dieAt(t, { method: 'ack', when }, () => victim.ack([token]))
      t.equal(await world.store.count(MAILBOX), when === 'before' ? 1 : 0)
      t.same(await n1.ack([token]), [when === 'before'], 'a repeated acknowledgement has an effect only once')
      await isEmpty(t)
    })

    t.test(`${when} the commit of a lease`, async t => {
      const key = `lease-${when}`
      const grant = (by: WireStore, node: string) => by.grant('s', key, node, LEASE_MS)
      await dieAt(t, { method: 'grant', when }, () => grant(victim, 'n1'))
      const known = (await world.store.leases('default')).filter(each => each.key === key)
      t.equal(known.length, when === 'before' ? 0 : 1)
      const other = await grant(n2, 'n2')
      t.equal('fence' in other, when === 'before', 'another node gets it only if it was not granted')
      const lease = (when === 'before' ? other : await grant(n1, 'n1')) as NamedLease
      if (when === 'after') t.equal(lease.fence, known[0]?.fence, 'its node gets the same lease again')
      t.equal(await n1.release(lease), 'ok')
      t.same(await world.store.leases('default'), [])
    })

    t.test(`${when} a token that may be used once is recorded`, async t => {
      const token = [{ value: `once-${when}`, expiresAt: Date.now() + LEASE_MS }]
      await dieAt(t, { method: 'useOnce', when }, () => victim.useOnce(token))
      t.same(await n1.useOnce(token), [when === 'before'])
    })
  }
})
