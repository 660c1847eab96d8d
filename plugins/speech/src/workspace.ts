import { realpath, stat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { speechErrors } from '@svc/contracts'

/** The folder of recordings. */
export class Workspace {
  readonly root: string

  constructor(root: string) {
    this.root = resolve(root)
  }

  /**
   * Returns the real path of a file in the workspace, with symbolic links resolved.
   *
   * Throws `SPC_PATH_OUTSIDE` for a path outside the workspace, even if nothing exists there, and `SPC_FILE_NOT_FOUND`
   * if there is no such file.
   */
  async file(path: string): Promise<string> {
    const outside = () =>
      speechErrors.create('SPC_PATH_OUTSIDE', `${path} is outside the workspace`, {
        hint: 'use a file below SVC_ORATIO_WORKSPACE'
      })
    const missing = () => speechErrors.create('SPC_FILE_NOT_FOUND', `the workspace has no file ${path}`)
    if (path.includes('\0')) throw missing()
    const requested = resolve(this.root, path)
    const root = await realpath(this.root).catch(() => this.root)
    // The root may be a symbolic link, so its real path is accepted, too.
    if (!within(this.root, requested) && !within(root, requested)) throw outside()
    const found = await realpath(requested).catch(() => null)
    if (found === null) throw missing()
    if (!within(root, found)) throw outside()
    const isFile = await stat(found).then(
      each => each.isFile(),
      () => false
    )
    if (!isFile) throw missing()
    return found
  }
}

function within(root: string, path: string): boolean {
  const inside = relative(root, path)
  return inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && resolve(root, inside) === path
}
