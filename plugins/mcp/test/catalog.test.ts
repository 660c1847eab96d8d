import assert from 'node:assert/strict'
import type { GenerationView, OperationEntry } from '@svc/contracts'
import { defineOperation, definePlugin, describePlugin, t as s } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { buildCatalog, fingerprint } from '#root'

const NAMES = ['a', 'b', 'c', 'd'] as const

/** Returns a new operation entry, as the kernel binds it. */
function entry(name: string, revision: number): OperationEntry {
  const operation = defineOperation({
    id: `${name}.run`,
    summary: `Revision ${revision}`,
    input: s.object({ n: s.integer({ default: revision }) }),
    output: s.object({}),
    effect: 'read',
    expose: { mcp: true }
  })
  const [descriptor] = describePlugin(
    definePlugin({ name, operations: [operation], activate() {} }),
    '1.0.0'
  ).operations
  return { descriptor, unit: { name } } as unknown as OperationEntry
}

function generation(entries: readonly OperationEntry[]): GenerationView {
  const operations = new Map(entries.map(each => [each.descriptor.id, each]))
  return { operations, items: () => [] } as unknown as GenerationView
}

/** Copies the declaration, so that nothing cached for it applies. */
const fresh = ({ descriptor, unit }: OperationEntry): OperationEntry =>
  ({ descriptor: structuredClone(descriptor), unit }) as unknown as OperationEntry
/** Returns an entry of a reloaded unit with the same declaration. */
const again = ({ descriptor, unit }: OperationEntry): OperationEntry =>
  ({ descriptor, unit: { ...unit } }) as OperationEntry

t.test('a catalog of reused units equals one that is built from scratch', t => {
  const step = fc.record({
    name: fc.constantFrom(...NAMES),
    change: fc.constantFrom('edit' as const, 'reload' as const, 'remove' as const),
    revision: fc.integer({ min: 0, max: 2 })
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), steps => {
      const current = new Map<string, OperationEntry>()
      for (const { name, change, revision } of steps) {
        const known = current.get(name)
        if (change === 'remove') current.delete(name)
        else current.set(name, change === 'reload' && known !== undefined ? again(known) : entry(name, revision))
        const entries = [...current.values()]
        const kept = buildCatalog(generation(entries))
        const made = buildCatalog(generation(entries.map(fresh)))
        const listed = ({ tools }: typeof kept) => [...tools.values()].map(({ name, listing }) => ({ name, listing }))
        assert.deepEqual(listed(kept), listed(made))
        assert.deepEqual(fingerprint(kept), fingerprint(made))
        for (const [name, tool] of kept.tools)
          assert.equal(tool.unit, current.get(name.replace(/^svc_|_run$/g, ''))?.unit)
      }
    }),
    { numRuns: 100 }
  )
  t.pass()
  t.end()
})
