import type { Kernel } from '../core/kernel.ts'

export interface InProcessProjectOptions {
  /** Folder of the project. */
  readonly root: string
  /** Plugins that run. */
  readonly only: readonly string[]
  /** Settings of the layer `set`, such as `plugins.http.port=0`. */
  readonly set?: readonly string[]
}

export interface InProcessProject {
  readonly kernel: Kernel
  /** Applies the files of a plugin as they are now. */
  reload(plugin: string): Promise<void>
  close(): Promise<void>
}

/** Opens a project in this process, from its sources and without a watcher, for tests that measure the process. */
export async function openInProcess({ root, only, set = [] }: InProcessProjectOptions): Promise<InProcessProject> {
  // Loaded here, since most tests run plugins that are values and need no compiler.
  const [{ readCatalog }, { openProject }] = await Promise.all([
    import('../host/catalog.ts'),
    import('../host/open-project.ts')
  ])
  // As under --watch: a new process for each manifest takes most of the time of a reload.
  const catalog = await readCatalog({ cwd: root, env: {}, preferSource: true, spares: 1, set })
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
