import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Host } from './host.ts'

export interface NvidiaGpu {
  /**
   * Index that `nvidia-smi` prints, in the order of the PCI bus. The CUDA index may differ: it depends on
   * `CUDA_DEVICE_ORDER` and `CUDA_VISIBLE_DEVICES`.
   */
  readonly index: number
  readonly model: string
  readonly memoryMb: number
  /** Null if the driver was not queried. */
  readonly freeMb: number | null
}

export interface NvidiaDriver {
  readonly version: string
  readonly gpus: readonly NvidiaGpu[]
}

/** GPU from the settings; the driver is then not queried. */
export interface ConfiguredGpu {
  readonly model: string
  readonly memoryMb: number
}

const VENDOR = '0x10de'
const QUERY = ['--query-gpu=index,name,memory.total,memory.free', '--format=csv,noheader,nounits']

/** Returns the kernel driver and its GPUs; null if there is no driver. With `configuredGpu`, `nvidia-smi` is not run. */
export async function findNvidiaDriver(host: Host, configuredGpu: ConfiguredGpu | null): Promise<NvidiaDriver | null> {
  const text = await readFile(join(host.root, '/proc/driver/nvidia/version'), 'utf8').catch(() => null)
  if (configuredGpu !== null) {
    const gpu = { index: 0, ...configuredGpu, freeMb: null }
    return text === null ? null : { version: versionIn(text), gpus: [gpu] }
  }
  const csv = await host.run('nvidia-smi', QUERY)
  if (text === null && csv === null) return null
  return { version: versionIn(text ?? ''), gpus: (csv ?? '').split('\n').flatMap(gpuOf) }
}

/** True if the machine has an NVIDIA card, with or without a driver; null if unknown. */
export async function hasNvidiaCard({ root }: Host): Promise<boolean | null> {
  const folder = join(root, '/sys/bus/pci/devices')
  const cards = await readdir(folder).catch(() => null)
  if (cards === null) return null
  const vendors = cards.map(card => readFile(join(folder, card, 'vendor'), 'utf8').catch(() => ''))
  return (await Promise.all(vendors)).some(vendor => vendor.trim() === VENDOR)
}

/** Parses "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 …". */
function versionIn(text: string): string {
  return /\b\d{3,}\.\d+(\.\d+)?\b/.exec(text)?.[0] ?? 'unknown'
}

function gpuOf(line: string): NvidiaGpu[] {
  const [index = '', model = '', memory = '', free = ''] = line.split(',').map(part => part.trim())
  const numbers = [index, memory, free].map(Number)
  if (model === '' || numbers.some(Number.isNaN)) return []
  const [number = 0, memoryMb = 0, freeMb = 0] = numbers
  return [{ index: number, model, memoryMb, freeMb }]
}
