import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { repositoryIdOf } from './repository-id.ts'

/**
 * Returns the folder for caches and data of plugins. In a project, it is `.vox`. Svc creates no `.vox` in other
 * folders, without `svc.toml`, `.git` and `.vox`: their state is in the data directory (`SVC_DATA_DIR`, else `svc` in
 * `XDG_DATA_HOME` or `~/.local/share`). It stays there even if a `.vox` appears later, for example from a daemon:
 * otherwise the earlier state would be lost.
 */
export function stateDirectory(projectRoot: string, dataDirectory: string | undefined, env: NodeJS.ProcessEnv): string {
  const has = (name: string): boolean => existsSync(join(projectRoot, name))
  const own = join(projectRoot, '.vox')
  if (has('svc.toml') || has('.git')) return own
  const data = dataDirectory ?? join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'svc')
  const shared = join(data, 'projects', repositoryIdOf(projectRoot))
  return has('.vox') && !existsSync(shared) ? own : shared
}
