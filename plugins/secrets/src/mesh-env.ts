import { join } from 'node:path'
import { envLine, readEnvFile } from './env-file.ts'
import { commandErrors } from './errors.ts'
import { changeFile } from './file-lock.ts'
import { writePrivateFile } from './private-file.ts'

const FILE = join('populi', 'mesh.env')

export interface MeshEnvPlaces {
  readonly projectRoot: string
  readonly repositoryRoot: string | undefined
  readonly cwd: string
  readonly home: string
}

/** Returns the files that may hold secrets of the mesh, in the order of their precedence. */
export function meshEnvFiles({ projectRoot, repositoryRoot, cwd, home }: MeshEnvPlaces): string[] {
  const roots = [projectRoot, ...(repositoryRoot === undefined ? [] : [repositoryRoot]), cwd, home]
  return [...new Set(roots.map(root => join(root, '.vox', FILE)))]
}

/** Returns the first of the variables that a file sets; the first file with one of them wins. Throws `SCR_FILE_INVALID`. */
export function findInMeshEnv(
  names: readonly string[],
  files: readonly string[]
): { readonly name: string; readonly value: string; readonly file: string } | null {
  for (const file of files) {
    const values = readEnvFile(file)
    for (const name of names) {
      const value = values?.get(name)
      if (value !== undefined) return { name, value, file }
    }
  }
  return null
}

/** Sets variables of a mesh file. Other variables stay; comments do not. Throws `SCR_FILE_INVALID`, `SEC_STORE_FAILED`. */
export async function writeMeshEnv(file: string, values: ReadonlyMap<string, string>): Promise<void> {
  await changeFile(file, () => {
    const all = new Map([...(readEnvFile(file) ?? []), ...values])
    const lines = [...all].map(([name, value]) => {
      const line = envLine(name, value)
      if (line === null)
        throw commandErrors.create('SCR_NOT_STORABLE', `${name} has a line break, which ${file} cannot hold`, {
          hint: 'set the variable in the environment instead'
        })
      return line
    })
    writePrivateFile(file, `${lines.join('\n')}\n`)
  })
}
