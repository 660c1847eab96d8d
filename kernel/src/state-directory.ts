import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { repositoryIdOf } from './repository-id.ts'

/**
 * Where caches and plugins' own data go: `.vox` in a project. A folder that is none, because it has no `svc.toml`, no
 * `.git` and no `.vox`, stays clean: its state lies under the data directory, which is `SVC_DATA_DIR`, else `svc` in
 * `XDG_DATA_HOME` or `~/.local/share`.
 */
export function stateDirectory(projectRoot: string, dataDirectory: string | undefined, env: NodeJS.ProcessEnv): string {
  const isProject = ['svc.toml', '.git', '.vox'].some(name => existsSync(join(projectRoot, name)))
  if (isProject) return join(projectRoot, '.vox')
  const shared = dataDirectory ?? join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'svc')
  return join(shared, 'projects', repositoryIdOf(projectRoot))
}
