import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Host } from './host.ts'
import type { FoundLibrary, SharedLibraries } from './shared-libraries.ts'

export interface Vulkan {
  readonly loader: FoundLibrary | null
  /** Manifests of installed drivers. */
  readonly drivers: readonly string[]
}

const FOLDERS = [
  '/etc/vulkan/icd.d',
  '/usr/local/share/vulkan/icd.d',
  '/usr/share/vulkan/icd.d',
  '/usr/local/etc/vulkan/icd.d',
  '/usr/local/nvidia/share/vulkan/icd.d'
]

/**
 * Finds the Vulkan loader and the drivers that it would load.
 *
 * Search path: https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md
 */
export async function findVulkan(host: Host, libraries: SharedLibraries): Promise<Vulkan> {
  const { root, environment } = host
  const named = environment.VK_DRIVER_FILES ?? environment.VK_ICD_FILENAMES
  const loader = await libraries.find('libvulkan.so.1')
  if (named !== undefined) return { loader, drivers: named.split(':').filter(file => file !== '') }
  const data = environment.XDG_DATA_HOME ?? join(environment.HOME ?? '/', '.local/share')
  const drivers: string[] = []
  for (const folder of [...FOLDERS, join(data, 'vulkan/icd.d')]) {
    const names = await readdir(join(root, folder)).catch(() => [])
    drivers.push(...names.filter(name => name.endsWith('.json')).map(name => join(folder, name)))
  }
  return { loader, drivers }
}
