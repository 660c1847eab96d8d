import { type CommandDescriptor, t } from '@svc/plugin-sdk'

export const upgradeInput = t.object({
  apply: t.boolean({ default: false, description: 'Install the version; without it, only report.' }),
  rollback: t.boolean({ default: false, description: 'Go back to the version that was in use before.' }),
  version: t.optional(
    t.string({ minLength: 1, maxLength: 128, description: 'Tag, such as v1.2.3; default: the newest.' })
  ),
  channel: t.optional(t.enum(['stable', 'next'], { description: 'next: prereleases too.' })),
  allow_prerelease: t.boolean({ default: false, description: 'Accept prereleases once.' }),
  allow_breaking: t.boolean({ default: false, description: 'Accept another major version.' }),
  provider: t.optional(t.enum(['github', 'gitlab', 'http'], { description: 'Where releases are.' })),
  repo: t.optional(
    t.string({ pattern: '^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$', description: 'Repository, as owner/name.' })
  ),
  base_url: t.optional(t.string({ minLength: 1, maxLength: 2_048, description: 'For http: URL above download/TAG/.' })),
  source: t.enum(['release', 'repo'], {
    default: 'release',
    description: 'repo: update and build a source checkout with git.'
  }),
  ref: t.optional(t.string({ minLength: 1, maxLength: 256, description: 'For repo: branch, tag or commit.' })),
  repo_root: t.optional(
    t.string({ minLength: 1, description: 'For repo: folder of the checkout; default: that of this program.' })
  )
})

/** Command `svc upgrade`. It is not an operation, so that no client of a server can replace the program. */
export const upgradeCommand: CommandDescriptor = {
  command: 'upgrade',
  summary: 'Report, install or roll back a version of svc',
  input: upgradeInput,
  tolerant: true
}
