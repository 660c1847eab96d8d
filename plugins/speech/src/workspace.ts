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
   * Real path of a file of the workspace, links followed.
   *
   * Throws `SPC_PATH_OUTSIDE` for what lies elsewhere, whether it is there or not, and `SPC_FILE_NOT_FOUND` for what is
   * no file.
   */
  async file(path: string): Promise<string> {
    const outside = () =>
      speechErrors.create('SPC_PATH_OUTSIDE', `${path} leads out of the workspace`, {
        hint: 'name a file below SVC_ORATIO_WORKSPACE'
      })
    const missing = () => speechErrors.create('SPC_FILE_NOT_FOUND', `there is no file ${path} in the workspace`)
    if (path.includes('\0')) throw missing()
    const asked = resolve(this.root, path)
    const root = await realpath(this.root).catch(() => this.root)
    // The root may be a link.
    if (!within(this.root, asked) && !within(root, asked)) throw outside()
    const found = await realpath(asked).catch(() => null)
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
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && resolve(root, way) === path
}
