import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { PluginManifest } from '@svc/plugin-sdk'
import type { PluginSource } from '../core/plugin-source.ts'
import { type Files, temporaryFolder } from './files.ts'
import type { TestScope, World } from './world.ts'

export interface TestPlugin {
  readonly root: string
  readonly source: PluginSource
  readonly manifest: PluginManifest
  /** Runs the plugin in a kernel that closes with the test. */
  start(): Promise<World>
}

/** Loads a plugin from files as a project does: discovers, compiles and describes it. */
export async function loadTestPlugin(t: TestScope, { files }: { readonly files: Files }): Promise<TestPlugin> {
  // Imported dynamically: most tests define plugins inline and need no compiler.
  const [{ Discovery }, { World }] = await Promise.all([import('../host/discovery.ts'), import('./world.ts')])
  // The path contains spaces, as those of users may.
  const root = temporaryFolder(files, 'svc plugin ')
  const discovery = new Discovery({
    installRoot: join(root, 'none'),
    projectRoot: join(root, 'none'),
    cacheDirectory: join(root, '.cache'),
    prefer: 'source'
  })
  t.teardown(async () => {
    await discovery.close()
    rmSync(root, { recursive: true, force: true })
  })
  const { sources, problems } = await discovery.discover([root])
  const [source] = sources
  if (source === undefined)
    throw new Error(`no plugin in ${Object.keys(files).join(', ')}: ${JSON.stringify(problems)}`)
  if (source.manifest === null) throw source.problem
  return {
    root,
    source,
    manifest: source.manifest,
    async start() {
      const world = new World(t).putSource(source)
      await world.apply({ mustSucceed: [source.name] })
      return world
    }
  }
}
