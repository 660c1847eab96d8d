import { PROTECTED_PATHSPECS, protection } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { workspaceErrors } from './errors.ts'
import { git } from './git.ts'
import { parseStatus } from './git-status.ts'

const { WSP_GIT_MISSING, WSP_NOT_REPOSITORY, WSP_GIT_FAILED, WSP_GIT_TIMEOUT, WSP_REVISION_UNKNOWN, WSP_FILE_REFUSED } =
  workspaceErrors.specs
const errors = { WSP_GIT_MISSING, WSP_NOT_REPOSITORY, WSP_GIT_FAILED, WSP_GIT_TIMEOUT }
const STATUS_BYTES = 16_777_216

const change = t.nullable(
  t.enum(['added', 'modified', 'deleted', 'renamed', 'copied', 'type_changed', 'conflict', 'untracked'])
)

export const gitStatus = defineOperation({
  id: 'workspace.gitStatus',
  summary: 'Show the branch and the files that are not committed',
  input: t.object({
    limit: t.integer({ default: 200, minimum: 1, maximum: 10_000, description: 'Maximum number of files.' })
  }),
  output: t.object({
    branch: t.nullable(t.string(), { description: 'Null if HEAD is detached.' }),
    commit: t.nullable(t.string(), { description: 'Null before the first commit.' }),
    upstream: t.nullable(t.string()),
    ahead: t.nullable(t.integer(), { description: 'Commits that the upstream does not have.' }),
    behind: t.nullable(t.integer()),
    clean: t.boolean(),
    changed: t.integer({ description: 'Number of all changed files.' }),
    files: t.array(t.object({ path: t.string(), from: t.optional(t.string()), staged: change, unstaged: change }))
  }),
  errors,
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workspace/git/status' },
    mcp: {
      name: 'svc_git_status',
      result: 'tool-result',
      lane: 'app',
      readRole: true,
      toolsets: ['default', 'workspace'],
      use: 'Before and after changes of files. The lines that changed: svc_git_diff.'
    },
    rpc: true,
    cli: { command: 'workspace status', view: { rows: 'files', columns: ['path', 'staged', 'unstaged', 'from'] } }
  }
})

export function gitStatusHandler(projectRoot: string): Handler<typeof gitStatus> {
  return async ({ limit }, { signal }) => {
    const args = ['status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all']
    const { text } = await git(projectRoot, args, { maxBytes: STATUS_BYTES, signal })
    const { files, ...state } = parseStatus(text)
    return {
      ...state,
      clean: files.length === 0,
      changed: files.length,
      files: files.slice(0, limit).map(each => ({ ...each }))
    }
  }
}

/** A revision; it cannot be mistaken for an option. */
const REVISION = '^[A-Za-z0-9_@][A-Za-z0-9_./@{}~^-]*$'

export const gitDiff = defineOperation({
  id: 'workspace.gitDiff',
  summary: 'Show changed lines of the working tree as a unified diff',
  description: 'Files that may contain secrets, for example .env and *.key, are left out.',
  input: t.object({
    path: t.optional(t.string({ minLength: 1, maxLength: 4_096, description: 'Only this file or folder.' })),
    staged: t.boolean({ default: false, description: 'Compare what is staged, not the working tree.' }),
    base: t.optional(
      t.string({
        pattern: REVISION,
        maxLength: 256,
        description: 'Commit or branch to compare with. Default: the index, or HEAD with staged.'
      })
    ),
    max_bytes: t.integer({
      default: 60_000,
      minimum: 1_000,
      maximum: 1_000_000,
      description: 'Maximum bytes of the diff; the rest is cut off.'
    })
  }),
  output: t.object({
    files: t.array(
      t.object({
        path: t.string(),
        added: t.nullable(t.integer(), { description: 'Added lines; null for a binary file.' }),
        deleted: t.nullable(t.integer())
      })
    ),
    diff: t.string(),
    truncated: t.boolean({ description: 'Whether the diff is longer than max_bytes.' })
  }),
  errors: { ...errors, WSP_REVISION_UNKNOWN, WSP_FILE_REFUSED },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workspace/git/diff' },
    mcp: {
      name: 'svc_git_diff',
      result: 'tool-result',
      lane: 'app',
      readRole: true,
      toolsets: ['default', 'workspace'],
      use: 'To review changes before a commit. Untracked files are not part of it: svc_git_status lists them.'
    },
    rpc: true,
    cli: { command: 'workspace diff', args: ['path'], view: { text: 'diff' } }
  }
})

export function gitDiffHandler(projectRoot: string): Handler<typeof gitDiff> {
  return async ({ path, staged, base, max_bytes }, { signal }) => {
    const reason = path === undefined ? null : protection(path.replaceAll('\\', '/'))
    if (reason !== null)
      throw workspaceErrors.create('WSP_FILE_REFUSED', `${String(path)}: ${reason}`, { hint: 'name another path' })
    if (base !== undefined) await assertRevision(projectRoot, base, signal)
    const common = ['--no-color', '--no-ext-diff', '--no-textconv', ...(staged ? ['--cached'] : [])]
    const place = [
      ...(base === undefined ? [] : [base]),
      '--',
      path === undefined ? '.' : `:(literal)${path}`,
      ...PROTECTED_PATHSPECS
    ]
    const [numbers, { text, truncated }] = await Promise.all([
      git(projectRoot, ['diff', '--numstat', '-z', '--no-renames', ...common, ...place], {
        maxBytes: STATUS_BYTES,
        signal
      }),
      git(projectRoot, ['diff', ...common, ...place], { maxBytes: max_bytes, signal })
    ])
    return { files: parseNumbers(numbers.text), diff: text, truncated }
  }
}

async function assertRevision(cwd: string, base: string, signal: AbortSignal): Promise<void> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${base}^{commit}`]
  try {
    await git(cwd, args, { maxBytes: 1_024, signal })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'WSP_GIT_FAILED') throw error
    throw workspaceErrors.create('WSP_REVISION_UNKNOWN', `the repository has no revision ${base}`, {
      hint: 'name a commit, a branch or a tag; git log shows commits'
    })
  }
}

/** Parses `git diff --numstat -z --no-renames`. A binary file has `-` for both numbers. */
function parseNumbers(text: string) {
  return text.split('\0').flatMap(record => {
    const [, added, deleted, path] = /^(\d+|-)\t(\d+|-)\t(.+)$/s.exec(record) ?? []
    if (path === undefined) return []
    return { path, added: added === '-' ? null : Number(added), deleted: deleted === '-' ? null : Number(deleted) }
  })
}
