import { basename, dirname, resolve } from 'node:path'
import type { PageBundler, Program, ProgramPages } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { watch } from 'chokidar'
import type { Settings } from '../settings.ts'
import type { DevChannel } from './dev-channel.ts'
import { type PageProblem, problemOf } from './page-problem.ts'
import { mayHavePages, type PreparedPages, preparePages, withoutBundle } from './prepare-pages.ts'

export interface PagesParts {
  readonly ctx: PluginContext<Settings>
  /** Generator and bundler of pages; without them, only built pages are served. */
  readonly generator: ProgramPages | undefined
  readonly bundler: PageBundler | undefined
}

/** Pages of a version of a program, and the reason for which it has none. */
export interface VersionPages {
  readonly pages: PreparedPages
  readonly problem: PageProblem | null
}

/** Prepares the pages of the first version. A program whose pages have errors is served without them. */
export async function firstPages({ ctx, generator, bundler }: PagesParts, program: Program): Promise<VersionPages> {
  try {
    return { pages: await preparePages(program, { generator, bundler, config: ctx.config }), problem: null }
  } catch (error) {
    ctx.log.error(`${program.path} is served without its pages`, { error })
    return { pages: withoutBundle(program), problem: problemOf(`The pages of ${basename(program.path)}`, error) }
  }
}

/**
 * Announces a version to open pages when it begins to serve. Calls `rebuild` when a file changes that the pages use, and
 * shows whether pages that the user built are those of this version.
 */
export function showVersion(
  parts: PagesParts,
  program: Program,
  { pages, problem }: VersionPages,
  channel: DevChannel,
  rebuild: () => void
): void {
  const { ctx, generator, bundler } = parts
  const { path } = program
  ctx.onServe(`open pages of ${path}`, () => channel.serve(pages.build, noticeOf(pages), problem))
  if (mayHavePages(program)) watchFiles(ctx, dirname(resolve(path)), pages.bundle?.inputs ?? [], rebuild)
  const { buildFile } = pages
  if (buildFile === null) return
  const compare = async (): Promise<void> => {
    const built = await preparePages(program, { generator, bundler, config: ctx.config })
    if (!channel.isStale) channel.serve(built.build, noticeOf(built), null)
  }
  const watcher = watch(buildFile, { ignoreInitial: true, atomic: 20 })
  watcher.on('all', () => {
    compare().catch((error: unknown) => ctx.log.warn('the built pages cannot be compared with the program', { error }))
  })
  watcher.on('error', () => undefined)
  ctx.effect(`watching ${buildFile}`, () => watcher.close())
}

/** Files next to a program that its pages may use. A module that is missing so far is found when it is added. */
const PAGE_FILE = /\.(?:[jt]sx?|css|json|svg|png|jpe?g|gif|webp|avif|woff2?)$/

/** Watches the files on disk from which pages are bundled. */
function watchFiles(ctx: PagesParts['ctx'], folder: string, inputs: readonly string[], onChange: () => void): void {
  const isIgnored = (path: string, stats?: { isFile(): boolean }): boolean =>
    stats?.isFile() === true && !PAGE_FILE.test(path)
  const options = { ignoreInitial: true, atomic: 20, depth: 0 }
  const watcher = watch([folder, ...inputs], { ...options, ignored: isIgnored })
  watcher.on('all', (event, path) => {
    if (event !== 'addDir' && event !== 'unlinkDir' && PAGE_FILE.test(path)) onChange()
  })
  watcher.on('error', () => undefined)
  ctx.effect(`watching the modules of ${folder}`, () => watcher.close())
}

/** Returns the remark that pages show; null if there is none. */
function noticeOf({ isOutdated }: PreparedPages): string | null {
  return isOutdated ? 'pages are stale: svc build' : null
}
