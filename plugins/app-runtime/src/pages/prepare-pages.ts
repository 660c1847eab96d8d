import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { PageBundle, PageBundler, Program, ProgramPages } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import type { Settings } from '../settings.ts'

export interface PageParts {
  readonly generator: ProgramPages | undefined
  readonly bundler: PageBundler | undefined
  readonly config: Pick<Settings, 'dev' | 'public_directory' | 'web_directory' | 'ssr_dev_url' | 'orchestrate_vite'>
}

/** Pages of one version of a program. */
export interface PreparedPages {
  readonly title: string
  /** null if the program has no pages, or if the project has other pages. */
  readonly bundle: PageBundle | null
  /** True if the output of `svc build` is of another version of the program. */
  readonly isOutdated: boolean
  /** File that changes with the output of `svc build`, on which `isOutdated` depends; null if it does not. */
  readonly buildFile: string | null
  /** Changes with the program and with its pages. */
  readonly build: string
}

/**
 * Bundles the pages of a program. Throws `RUN_PAGES_INVALID` with all findings if they cannot be generated, and the
 * errors of the bundler.
 */
export async function preparePages(program: Program, parts: PageParts): Promise<PreparedPages> {
  const { generator, bundler, config } = parts
  const hasOwn = hasOwnPages(program, config)
  if (generator === undefined || !mayHavePages(program) || (hasOwn && !config.dev)) return withoutBundle(program)
  const folder = resolve(dirname(program.path), config.web_directory)
  const pages = await generator.generate(program, folder)
  if (!pages.ok) {
    // The user builds these pages, and `svc build` reports the same findings.
    if (hasOwn) return withoutBundle(program)
    throw runErrors.create(
      'RUN_PAGES_INVALID',
      `the pages of ${program.path} have errors:\n${pages.report.trimEnd()}`,
      {
        at: { file: program.path }
      }
    )
  }
  const { title, hasPages, built, buildFile } = pages
  const none = { ...withoutBundle(program), title }
  if (hasOwn) return { ...none, isOutdated: built === 'stale', buildFile }
  if (!hasPages || bundler === undefined) return none
  const bundle = await bundler.bundle({ folder, ...pages, isDevelopment: config.dev })
  return { title, bundle, isOutdated: false, buildFile: null, build: buildId(program, bundle) }
}

/** True if pages come from a server of the user, or from files that the user built. */
export function hasOwnPages({ path }: Program, config: PageParts['config']): boolean {
  const { ssr_dev_url, orchestrate_vite, public_directory } = config
  if (ssr_dev_url !== undefined || orchestrate_vite) return true
  return existsSync(join(resolve(dirname(path), public_directory), 'index.html'))
}

/** Words of declarations that become pages. A program without them needs no compilation for browsers. */
const PAGE_WORDS = /\b(?:component|routes|fragment)\b|@(?:component|island|v0|form)\b/

export function mayHavePages({ components, text }: Program): boolean {
  return components.length > 0 || PAGE_WORDS.test(text)
}

export function withoutBundle(program: Program): PreparedPages {
  const { path } = program
  return { title: path, bundle: null, isOutdated: false, buildFile: null, build: buildId(program, null) }
}

function buildId({ text }: Program, bundle: PageBundle | null): string {
  const parts = [text, ...(bundle === null ? [] : bundle.files.keys())]
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16)
}
