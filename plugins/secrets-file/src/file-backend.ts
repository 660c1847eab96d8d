import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type SecretBackend, secretErrors } from '@svc/contracts'

/** A larger file is no secret, and is not read. */
const MAX_BYTES = 65_536

/**
 * Returns the backend that resolves `secret://file/NAME` from the file NAME in a folder. One line break at the end does
 * not belong to the value. Files are read again at each call, so a reload of the plugin that uses a secret reads its
 * current value.
 */
export function fileBackend(folder: string): SecretBackend {
  return {
    async resolve(name) {
      // A name is that of a file in the folder, never a path.
      if (!/^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(name)) {
        throw secretErrors.create('SEC_NOT_FOUND', `secret://file/${name}: the name is not that of a file`, {
          hint: `write the name of a file in ${folder}, of letters, digits, ".", "_" and "-"`
        })
      }
      const value = (await read(name, join(folder, name))).replace(/\r?\n$/, '')
      if (value !== '') return value
      throw secretErrors.create('SEC_NOT_FOUND', `secret://file/${name}: the file ${join(folder, name)} is empty`, {
        hint: 'write the secret to the file, and reload the plugin that uses it'
      })
    }
  }
}

async function read(name: string, path: string): Promise<string> {
  try {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, and a secret may have ${MAX_BYTES}`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw secretErrors.create('SEC_NOT_FOUND', `secret://file/${name}: there is no file ${path}`, {
        hint: 'mount the secret there, or set plugins.secrets-file.directory to the folder that has it'
      })
    }
    throw secretErrors.create('SEC_STORE_FAILED', `secret://file/${name}: ${path} cannot be read: ${message}`, {
      hint: 'correct the owner and the permissions of the file; only the user that runs svc needs to read it',
      cause: error
    })
  }
}
