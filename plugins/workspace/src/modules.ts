import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { parse as parseToml } from 'smol-toml'
import { workspaceErrors } from './errors.ts'
import { git } from './git.ts'
import { readProjectFile } from './project-file.ts'

const MANIFESTS = ['package.json', 'Cargo.toml', 'pyproject.toml', 'go.mod'] as const
/** A manifest is parsed at once: JSON of this size takes about 5 ms, TOML of this size less than 20 ms. */
const MAX_BYTES = {
  'package.json': 262_144,
  'Cargo.toml': 65_536,
  'pyproject.toml': 65_536,
  'go.mod': 262_144
} as const
const LIST_BYTES = 16_777_216
/** Maximum concurrent reads. */
const AT_ONCE = 16

const { WSP_GIT_MISSING, WSP_NOT_REPOSITORY, WSP_GIT_FAILED, WSP_GIT_TIMEOUT } = workspaceErrors.specs

export const workspaceModules = defineOperation({
  id: 'workspace.modules',
  summary: 'List the packages and vox sources of the project',
  input: t.object({
    limit: t.integer({ default: 200, minimum: 1, maximum: 5_000, description: 'Maximum number of modules.' })
  }),
  output: t.object({
    modules: t.array(
      t.object({
        kind: t.enum(['npm', 'svc-plugin', 'cargo', 'python', 'go', 'vox']),
        name: t.string(),
        version: t.nullable(t.string()),
        path: t.string({ description: 'Manifest, or source file.' }),
        problem: t.nullable(t.string(), { description: 'Why the manifest cannot be read.' })
      })
    ),
    total: t.integer()
  }),
  errors: { WSP_GIT_MISSING, WSP_NOT_REPOSITORY, WSP_GIT_FAILED, WSP_GIT_TIMEOUT },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workspace/modules' },
    mcp: {
      name: 'svc_workspace_modules',
      result: 'tool-result',
      lane: 'app',
      readRole: true,
      toolsets: ['workspace'],
      use: 'To learn how a project is divided. How much of it is in the search index: svc_repo_index_status.'
    },
    rpc: true,
    cli: { command: 'workspace modules', view: { rows: 'modules', columns: ['kind', 'name', 'version', 'path'] } }
  }
})

type Module = {
  kind: 'npm' | 'svc-plugin' | 'cargo' | 'python' | 'go' | 'vox'
  name: string
  version: string | null
  path: string
  problem: string | null
}

export function modulesHandler(projectRoot: string): Handler<typeof workspaceModules> {
  return async ({ limit }, { signal }) => {
    const patterns = [...MANIFESTS.map(name => `:(glob)**/${name}`), ':(glob)**/*.vox']
    const paths = await listFiles(projectRoot, patterns, signal)
    const wanted = paths.slice(0, limit)
    const modules: Module[] = []
    for (let at = 0; at < wanted.length; at += AT_ONCE) {
      signal.throwIfAborted()
      modules.push(...(await Promise.all(wanted.slice(at, at + AT_ONCE).map(path => moduleOf(projectRoot, path)))))
    }
    return { modules, total: paths.length }
  }
}

/** Returns files of the repository that git does not ignore, sorted. Throws the errors of {@link git}. */
export async function listFiles(cwd: string, patterns: readonly string[], signal: AbortSignal): Promise<string[]> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate', '--', ...patterns]
  const { text } = await git(cwd, args, { maxBytes: LIST_BYTES, signal })
  return text
    .split('\0')
    .filter(path => path !== '')
    .sort()
}

async function moduleOf(projectRoot: string, path: string): Promise<Module> {
  const file = path.split('/').at(-1) as string
  const folder = path.split('/').at(-2) ?? '.'
  if (file.endsWith('.vox')) {
    return { kind: 'vox', name: path.replace(/\.vox$/, ''), version: null, path, problem: null }
  }
  const manifest = file as (typeof MANIFESTS)[number]
  const kind = KINDS[manifest]
  try {
    const { text } = await readProjectFile(projectRoot, path, MAX_BYTES[manifest])
    const found = READERS[manifest](text)
    const { name, version } = found
    return {
      kind: 'isPlugin' in found && found.isPlugin ? 'svc-plugin' : kind,
      name: typeof name === 'string' ? name : folder,
      version: typeof version === 'string' ? version : null,
      path,
      problem: null
    }
  } catch (error) {
    const [problem = ''] = (error as Error).message.split('\n')
    return { kind, name: folder, version: null, path, problem }
  }
}

interface Found {
  readonly name?: unknown
  readonly version?: unknown
  readonly isPlugin?: boolean
}

const KINDS = { 'package.json': 'npm', 'Cargo.toml': 'cargo', 'pyproject.toml': 'python', 'go.mod': 'go' } as const

const READERS: Readonly<Record<(typeof MANIFESTS)[number], (text: string) => Found>> = {
  'package.json': text => {
    const manifest = tableOf(JSON.parse(text))
    return { name: manifest.name, version: manifest.version, isPlugin: tableOf(manifest.svc).plugin !== undefined }
  },
  'Cargo.toml': text => tableOf(parseToml(text).package),
  'pyproject.toml': text => {
    const { project, tool } = parseToml(text)
    return tableOf(project ?? tableOf(tool).poetry)
  },
  'go.mod': text => ({ name: /^module\s+(\S+)/m.exec(text)?.[1], version: /^go\s+(\S+)/m.exec(text)?.[1] })
}

function tableOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
