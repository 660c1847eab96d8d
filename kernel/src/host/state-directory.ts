import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { repositoryIdOf } from './repository-id.ts'

/**
 * Where caches and plugins' own data go: `.vox` in a project. A folder that is none, because it has no `svc.toml`, no
 * `.git` and no `.vox`, stays clean: its state lies under the data directory, which is `SVC_DATA_DIR`, else `svc` in
 * `XDG_DATA_HOME` or `~/.local/share`. It stays there when a `.vox` comes into being, as a daemon leaves one: what was kept would
 * be out of sight otherwise.
 */
export function stateDirectory(projectRoot: string, dataDirectory: string | undefined, env: NodeJS.ProcessEnv): string {
  const has = (name: string): boolean => existsSync(join(projectRoot, name))
  const own = join(projectRoot, '.vox')
  if (has('svc.toml') || has('.git')) return own
  const data = dataDirectory ?? join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'svc')
  const shared = join(data, 'projects', repositoryIdOf(projectRoot))
  return has('.vox') && !existsSync(shared) ? own : shared
}
