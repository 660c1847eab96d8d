import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { rollBack, Toolchain } from '#root'

const VERSIONS = ['v1', 'v2', 'v3', 'v4', 'v5']

/** Creates a toolchain folder in which all versions are installed, and none is in use. */
async function template(home: string): Promise<void> {
  const toolchain = new Toolchain(home)
  await toolchain.exclusively(async () => {
    for (const [index, tag] of VERSIONS.entries()) {
      const partial = await toolchain.partial()
      mkdirSync(join(partial, 'bin'))
      writeFileSync(join(partial, 'bin', 'svc.cjs'), '')
      const installed_at = new Date(index * 1_000).toISOString()
      await toolchain.place(partial, { directory: tag, tag, version: '1.0.0', asset: tag, sha256: '', installed_at })
    }
  })
}

t.test(
  'after any sequence of changes, the current version is complete and the way back leads to the one before',
  async t => {
    const root = mkdtempSync(join(tmpdir(), 'svc-toolchain-'))
    t.teardown(() => rmSync(root, { recursive: true, force: true }))
    await template(join(root, 'template'))
    const step = fc.oneof(
      fc.record({ act: fc.constant('use' as const), tag: fc.constantFrom(...VERSIONS), killed: fc.boolean() }),
      fc.record({ act: fc.constant('prune' as const), keep: fc.integer({ min: 2, max: 4 }) }),
      fc.record({ act: fc.constant('back' as const) })
    )
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async steps => {
        const home = join(root, String(runs++))
        cpSync(join(root, 'template'), home, { recursive: true, verbatimSymlinks: true })
        const toolchain = new Toolchain(home)
        /** Versions in the order in which they came into use. */
        const used: string[] = []
        const installed = new Set(VERSIONS)
        const previous = (): string | undefined =>
          used.toReversed().find(tag => tag !== used.at(-1) && installed.has(tag))
        for (const each of steps) {
          if (each.act === 'use') {
            if (!installed.has(each.tag)) continue
            await toolchain.exclusively(async () => {
              await toolchain.switchTo(each.tag)
              // Killed in between: the next change records it.
              if (!each.killed) await toolchain.record()
            })
            if (used.at(-1) !== each.tag) used.push(each.tag)
          } else if (each.act === 'prune') {
            const removed = await toolchain.exclusively(() => toolchain.prune(each.keep, undefined))
            const kept = [used.at(-1), previous()]
            for (const tag of removed) {
              if (kept.includes(tag)) return false
              installed.delete(tag)
            }
            if (installed.size > Math.max(each.keep, 2)) return false
          } else {
            const target = previous()
            const result = await rollBack(toolchain).catch(error => error.code)
            if (target === undefined ? result !== 'UPD_NO_PREVIOUS' : result.to?.tag !== target) return false
            if (target !== undefined) used.push(target)
          }
          if ((await toolchain.current())?.tag !== used.at(-1)) return false
          if ((await toolchain.versions()).length !== installed.size) return false
        }
        return true
      }),
      { numRuns: 40 }
    )
    t.pass()
  }
)
