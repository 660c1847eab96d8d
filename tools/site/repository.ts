import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './pages.ts'

/** Returns the address of the repository that the packages name, for links to sources and for edit links. */
export function repositoryUrl(): string | undefined {
  for (const manifest of ['package.json', 'kernel/package.json']) {
    const { repository } = JSON.parse(readFileSync(join(ROOT, manifest), 'utf8')) as {
      repository?: string | { url: string }
    }
    const url = typeof repository === 'string' ? repository : repository?.url
    if (url !== undefined)
      return url
        .replace(/^git\+/, '')
        .replace(/^ssh:\/\/git@/, 'https://')
        .replace(/\.git$/, '')
  }
  return undefined
}
