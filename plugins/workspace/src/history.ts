import { PROTECTED_PATHSPECS, protection } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { workspaceErrors } from './errors.ts'
import { git } from './git.ts'

const { WSP_GIT_MISSING, WSP_NOT_REPOSITORY, WSP_GIT_FAILED, WSP_GIT_TIMEOUT, WSP_FILE_REFUSED } = workspaceErrors.specs
const MAX_OUTPUT_BYTES = 4_194_304
const FIELDS = ['%H', '%aI', '%an', '%s']

export const repoHistory = defineOperation({
  id: 'workspace.repoHistory',
  summary: 'Find commits by their message, or by the files that they changed',
  input: t.object({
    query: t.string({ default: '', maxLength: 500, description: 'Text in the message, in any case. Default: any.' }),
    path: t.string({
      default: '',
      maxLength: 4_096,
      description: 'File or folder that the commits changed. Default: any.'
    }),
    limit: t.integer({ default: 20, minimum: 1, maximum: 500, description: 'Maximum commits.' })
  }),
  output: t.object({
    commits: t.array(
      t.object({
        commit: t.string(),
        at: t.string({ format: 'date-time' }),
        author: t.string(),
        subject: t.string()
      })
    )
  }),
  errors: { WSP_GIT_MISSING, WSP_NOT_REPOSITORY, WSP_GIT_FAILED, WSP_GIT_TIMEOUT, WSP_FILE_REFUSED },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workspace/history' },
    mcp: {
      name: 'svc_repo_query_history',
      lane: 'app',
      readRole: true,
      toolsets: ['workspace', 'search'],
      use: 'To learn when and why something changed. Changes that are not committed: svc_git_diff.'
    },
    rpc: true,
    cli: {
      command: 'workspace history',
      args: ['query'],
      view: { rows: 'commits', columns: ['at', 'author', 'subject', 'commit'] }
    }
  }
})

export function repoHistoryHandler(projectRoot: string): Handler<typeof repoHistory> {
  return async ({ query, path, limit }, { signal }) => {
    const reason = path === '' ? null : protection(path.replaceAll('\\', '/'))
    if (reason !== null) throw workspaceErrors.create('WSP_FILE_REFUSED', `${path}: ${reason}`)
    const { text } = await git(
      projectRoot,
      [
        'log',
        `--max-count=${limit}`,
        `--format=${FIELDS.join('%x1f')}%x1e`,
        ...(query === '' ? [] : ['--regexp-ignore-case', '--fixed-strings', `--grep=${query}`]),
        // Literal: a path with magic, such as :(top), could leave the project.
        ...(path === '' ? [] : ['--', `:(literal)${path}`, ...PROTECTED_PATHSPECS])
      ],
      { maxBytes: MAX_OUTPUT_BYTES, signal }
    )
    const commits = text
      .split('\x1e')
      .map(record => record.trim().split('\x1f'))
      .filter(fields => fields.length === FIELDS.length)
      .map(([commit = '', at = '', author = '', subject = '']) => ({ commit, at, author, subject }))
    return { commits }
  }
}
