import type { Kernel } from '../core/kernel.ts'

export interface InProcessProjectOptions {
  /** Folder of the project. */
  readonly root: string
  /** Plugins to run. */
  readonly only: readonly string[]
  /** Overrides as for `--set`, such as `plugins.http.port=0`. */
  readonly set?: readonly string[]
}

export interface InProcessProject {
  readonly kernel: Kernel
  /** Reloads a plugin from its current files. */
  reload(plugin: string): Promise<void>
  close(): Promise<void>
}

/** Opens a project in this process, from sources and without a watcher, for tests that measure the process. */
export async function openInProcess({ root, only, set = [] }: InProcessProjectOptions): Promise<InProcessProject> {
  // Imported dynamically: most tests define plugins inline and need no compiler.
  const [{ readCatalog }, { openProject }] = await Promise.all([
    import('../host/catalog.ts'),
    import('../host/open-project.ts')
  ])
  // As with --watch, a spare process is kept: starting one for each manifest would dominate the reload time.
  const catalog = await readCatalog({ cwd: root, env: {}, preferSource: true, only, spares: 1, set })
  const project = await openProject({ catalog, only, watch: false, logLevel: 'error' })
  return {
    kernel: project.kernel,
    async reload(plugin) {
      await project.admin.apply({ reload: [plugin] })
    },
    async close() {
      await project.close()
      await catalog.close()
    }
  }
}
