import { dirname } from 'node:path'
import type { DeviceInfo } from '@svc/contracts'
import { inferenceErrors } from '../errors.ts'
import type { Runtime } from '../ort/runtime.ts'
import { physicalParallelism } from '../threads.ts'
import { capturesRuns, type DeviceGraphsChoice } from './device-graphs.ts'
import { parseDevice } from './device-name.ts'
import { type Diagnosis, diagnose } from './diagnosis.ts'
import { type Host, thisHost } from './host.ts'
import type { ConfiguredGpu } from './nvidia.ts'
import { cudaObstacle, type Obstacle, webgpuObstacle } from './obstacles.ts'
import { type OpenOptions, openCuda, openWebgpu } from './open.ts'
import { type Survey, survey } from './survey.ts'

export interface DevicesOptions {
  /** Folder into which `svc gpu install` installs. */
  readonly libraryDirectory: string
  readonly require: NodeJS.Require
  /** Path of ONNX Runtime's library; null if it is not installed. */
  readonly core: string | null
  /** True if ONNX Runtime may be called natively; all devices except the CPU require it. */
  readonly native: boolean
  /** GPU from the settings; the driver is then not queried. */
  readonly configuredGpu?: ConfiguredGpu | null | undefined
  readonly host?: Host | undefined
  /** Default `auto`. */
  readonly graphs?: DeviceGraphsChoice | undefined
  /** Called once with the reason why `auto` uses the CPU, and once per reason why requested captures are disabled. */
  onFallback(message: string): void
}

/** Device that works. */
export interface OpenDevice {
  /** For example `cpu`, `cuda:0` or `webgpu`. */
  readonly id: string
  /** Runtime to close with the model; null on the CPU, where all models share one. */
  readonly runtime: Runtime | null
  /** Free GPU memory in bytes, as the driver reports it; null on the CPU, or if unknown. */
  readonly freeBytes: number | null
}

const CPU: OpenDevice = { id: 'cpu', runtime: null, freeBytes: null }
const MEGABYTE = 2 ** 20

/** Finds and opens compute devices. */
export class Devices {
  readonly #options: DevicesOptions
  #fellBack = false
  readonly #uncaptured = new Set<string>()

  constructor(options: DevicesOptions) {
    this.#options = options
  }

  survey(): Promise<Survey> {
    const { host = thisHost, libraryDirectory, core, configuredGpu = null } = this.#options
    return survey({ host, libraryDirectory, coreFolder: core === null ? null : dirname(core), configuredGpu })
  }

  /** Lists the devices of this machine. Does not open a provider, so a listed device may still fail. */
  async list(): Promise<readonly DeviceInfo[]> {
    const found = await this.survey()
    const cpu = { id: 'cpu', description: `${process.arch} CPU, ${await physicalParallelism()} cores` }
    const gpus = (found.driver?.gpus ?? [])
      .filter(({ index }) => cudaObstacle(found, index) === null)
      .map(({ index, model, memoryMb }) => ({ id: `cuda:${index}`, description: `${model}, ${memoryMb} MB` }))
    const webgpu = webgpuObstacle(found) === null ? [{ id: 'webgpu', description: 'GPU through WebGPU' }] : []
    return [cpu, ...gpus, ...webgpu]
  }

  /**
   * Opens a device by name; see {@link parseDevice}. `auto` opens the first CUDA GPU if it works, else the CPU.
   *
   * Throws `INF_DEVICE_UNAVAILABLE`, with the missing part and the command that installs it.
   */
  async open(name: string): Promise<OpenDevice> {
    const request = parseDevice(name)
    const { native } = this.#options
    if (request.kind === 'cpu' || (request.kind === 'auto' && !native)) return CPU
    if (!native) {
      const reason = 'the worker runtime supports only the CPU'
      throw await this.#unavailable(name, { missing: [], reason, command: null })
    }
    const found = await this.survey()
    switch (request.kind) {
      case 'auto':
        return this.#openBest(found)
      case 'cuda':
        return this.#openCuda(found, request.index, name)
      case 'webgpu':
        return this.#openWebgpu(found)
      case 'metal':
        throw await this.#unavailable(name, {
          missing: [],
          reason: "ONNX Runtime's Metal provider is not built in; on macOS, use webgpu, which runs on Metal",
          command: null
        })
    }
  }

  /** Diagnoses a requested device. Opens it briefly, to get the provider's message. */
  async diagnose(name: string, runtime: string): Promise<Diagnosis> {
    const request = parseDevice(name)
    const opened = await this.open(name).then(
      async device => {
        await device.runtime?.close()
        return { id: device.id }
      },
      (error: Error) => ({ error })
    )
    return diagnose({ requested: name, request, opened, survey: await this.survey(), runtime })
  }

  async #openBest(found: Survey): Promise<OpenDevice> {
    const obstacle = cudaObstacle(found, 0)
    if (obstacle === null) {
      try {
        return await this.#openCuda(found, 0, 'cuda:0')
      } catch (error) {
        this.#notifyFallback((error as Error).message)
        return CPU
      }
    }
    this.#notifyFallback(
      obstacle.command === null ? obstacle.reason : `${obstacle.reason}; to install it, run: ${obstacle.command}`
    )
    return CPU
  }

  #notifyFallback(reason: string): void {
    if (this.#fellBack) return
    this.#fellBack = true
    this.#options.onFallback(`Models run on the CPU: ${reason}`)
  }

  /** Returns the options to open a runtime on a device. */
  #openOptions(device: 'cuda' | 'webgpu'): OpenOptions {
    const { require, core, graphs = 'auto' } = this.#options
    return {
      require,
      core,
      capture: capturesRuns(graphs, device),
      onUncaptured: message => {
        const reason = message.replaceAll(/\s+/g, ' ').trim()
        if (this.#uncaptured.has(reason)) return
        this.#uncaptured.add(reason)
        this.#options.onFallback(`Runs on ${device} are not captured (device_graphs): ${reason}`)
      }
    }
  }

  async #openCuda(found: Survey, index: number, name: string): Promise<OpenDevice> {
    const obstacle = cudaObstacle(found, index)
    const { provider } = found
    if (obstacle !== null || provider === null) throw await this.#unavailable(name, obstacle)
    const gpu = found.driver?.gpus.find(each => each.index === index)
    const megabytes = gpu?.freeMb ?? gpu?.memoryMb
    return {
      id: `cuda:${index}`,
      runtime: await this.#try(name, () => openCuda(this.#openOptions('cuda'), provider, index)),
      freeBytes: megabytes === undefined ? null : megabytes * MEGABYTE
    }
  }

  async #openWebgpu(found: Survey): Promise<OpenDevice> {
    const obstacle = webgpuObstacle(found)
    if (obstacle !== null) throw await this.#unavailable('webgpu', obstacle)
    const runtime = await this.#try('webgpu', () => openWebgpu(this.#openOptions('webgpu')))
    return { id: 'webgpu', runtime, freeBytes: null }
  }

  async #try(name: string, open: () => Promise<Runtime>): Promise<Runtime> {
    try {
      return await open()
    } catch (cause) {
      const reason = (cause as Error).message.replaceAll(/\s+/g, ' ').trim()
      throw await this.#unavailable(name, { missing: [], reason, command: 'svc doctor gpu' }, cause)
    }
  }

  async #unavailable(device: string, obstacle: Obstacle | null, cause?: unknown) {
    const available = (await this.list()).map(({ id }) => id)
    const { missing = [], reason = 'it was not found', command = null } = obstacle ?? {}
    const message = `Device ${device} is not available: ${reason}; available: ${available.join(', ')}`
    return inferenceErrors.create('INF_DEVICE_UNAVAILABLE', message, {
      data: { device, available, missing: [...missing], command },
      hint: command === null ? `Use one of ${available.join(', ')}, or auto.` : `Run: ${command}`,
      cause
    })
  }
}
