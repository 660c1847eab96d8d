import assert from 'node:assert/strict'
import { type Generation, type Graph, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, t as s, service } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'

/*
 * The kernel caches results between changes only to save time. After any changes, the composition equals one that is
 * built from scratch.
 */

const NAMES = ['a', 'b', 'c', 'd'] as const
type Name = (typeof NAMES)[number]

interface Shape {
  readonly operations: number
  readonly provides: boolean
  readonly requires: readonly Name[]
}

type Step =
  | { readonly kind: 'put'; readonly name: Name; readonly shape: Shape }
  | { readonly kind: 'again' | 'remove'; readonly name: Name }
  | { readonly kind: 'enable'; readonly name: Name; readonly enabled: boolean }
  | { readonly kind: 'secrets'; readonly name: Name; readonly secretBackends: readonly string[] }

const token = (name: Name) => service<number>(`${name}@1`)

function plugin(name: Name, { operations, provides, requires }: Shape): Plugin {
  const defined = Array.from({ length: operations }, (_, index) =>
    defineOperation({
      id: `${name}.op${index}`,
      summary: 'x',
      input: s.object({ n: s.integer({ default: index }) }),
      output: s.object({}),
      effect: 'read',
      expose: { cli: { command: `${name} op${index}` }, http: { method: 'GET', path: `/${name}/${index}` } }
    })
  )
  return definePlugin<any, any, any, any>({
    name,
    operations: defined,
    provides: provides ? [token(name)] : [],
    requires: Object.fromEntries(requires.filter(other => other !== name).map(other => [other, token(other)])),
    activate(ctx) {
      if (provides) ctx.provide(token(name), operations)
      for (const each of defined) ctx.implement(each, () => ({}))
    }
  })
}

function composed({ units, operations, commands, services }: Generation): unknown {
  return {
    units: [...units.keys()],
    operations: [...operations].map(([id, { descriptor, unit }]) => [id, descriptor, unit.name]),
    commands: [...commands.keys()],
    services: NAMES.map(name => (services.has(token(name).id) ? services.resolve(token(name).id) : null))
  }
}

/** Returns a graph without the order in which plugins were visited: running ones are visited first. */
function plain({ order, edges, blocked }: Graph): unknown {
  return {
    order,
    edges: edges.map(edge => JSON.stringify(edge)).sort(),
    blocked: [...blocked].map(([name, { code }]) => `${name} ${code}`).sort()
  }
}

const name = fc.constantFrom(...NAMES)
const shape = fc.record({
  operations: fc.integer({ min: 0, max: 3 }),
  provides: fc.boolean(),
  requires: fc.uniqueArray(name, { maxLength: 2 })
})
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), name, shape }),
  fc.record({ kind: fc.constant('again' as const), name }),
  fc.record({ kind: fc.constant('remove' as const), name }),
  fc.record({ kind: fc.constant('enable' as const), name, enabled: fc.boolean() }),
  fc.record({ kind: fc.constant('secrets' as const), name, secretBackends: fc.subarray(['env', 'vault']) })
)

t.test('after any changes, generation and graph equal those of a new kernel with the same plugins', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
      const changed = new World(t)
      const there = new Map<Name, Shape>()
      const configurations = new Map<Name, { enabled?: boolean; secretBackends?: readonly string[] }>()
      await changed.apply()
      for (const each of steps) {
        if (each.kind === 'put') {
          there.set(each.name, each.shape)
          changed.put(plugin(each.name, each.shape))
        } else if (each.kind === 'remove') {
          there.delete(each.name)
          changed.remove(each.name)
        } else if (each.kind === 'again') {
          const known = there.get(each.name)
          if (known !== undefined) changed.put(plugin(each.name, known))
        } else {
          const { name, kind: _kind, ...says } = each
          configurations.set(name, { ...configurations.get(name), ...says })
          changed.configure({ [name]: configurations.get(name) ?? {} })
        }
        await changed.apply()
      }
      const fresh = new World(t)
      for (const [name, shape] of there) fresh.put(plugin(name, shape))
      fresh.configure(Object.fromEntries(configurations))
      await fresh.apply()
      assert.deepEqual(composed(changed.kernel.current), composed(fresh.kernel.current))
      assert.deepEqual(plain(changed.kernel.graph), plain(fresh.kernel.graph))
      await Promise.all([changed.kernel.close(), fresh.kernel.close()])
    }),
    { numRuns: 40 }
  )
  t.pass()
})
