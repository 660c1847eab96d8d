import type { DeviceRequest } from './device-name.ts'
import { cudaObstacle, type Obstacle, webgpuObstacle } from './obstacles.ts'
import type { Survey } from './survey.ts'

export interface Finding {
  readonly subject: string
  readonly status: 'ok' | 'absent' | 'warning' | 'error'
  readonly detail: string
  readonly hint: string | null
}

export interface Diagnosis {
  /** True if the device in use is the requested one; `auto` requests an NVIDIA GPU if the machine has one. */
  readonly healthy: boolean
  /** Device of loads that name none; empty if opening it fails. */
  readonly device: string
  readonly requested: string
  readonly missing: readonly string[]
  readonly command: string | null
  readonly findings: readonly Finding[]
}

export interface DiagnosisInput {
  readonly requested: string
  readonly request: DeviceRequest
  /** Result of opening the device. */
  readonly opened: { readonly id: string } | { readonly error: Error }
  readonly survey: Survey
  /** For display, for example `onnxruntime 1.30.0`. */
  readonly runtime: string
}

/** Reports the device in use, the devices found, missing parts, and the next command. */
export function diagnose({ requested, request, opened, survey, runtime }: DiagnosisInput): Diagnosis {
  const cuda = cudaObstacle(survey, request.kind === 'cuda' ? request.index : 0)
  const webgpu = webgpuObstacle(survey)
  const wantsCuda = request.kind === 'cuda' || (request.kind === 'auto' && hasCard(survey))
  const obstacle = wantsCuda ? cuda : request.kind === 'webgpu' ? webgpu : null
  const device = 'id' in opened ? opened.id : ''
  const fallback = wantsCuda && !device.startsWith('cuda')
  return {
    healthy: device !== '' && !fallback,
    device,
    requested,
    missing: obstacle?.missing ?? [],
    command: obstacle?.command ?? null,
    findings: [
      deviceFinding(requested, opened, fallback, obstacle),
      { subject: 'runtime', status: 'ok', detail: runtime, hint: null },
      driverFinding(survey, cuda, wantsCuda),
      providerFinding(survey, wantsCuda),
      ...libraryFindings(survey, cuda, wantsCuda),
      vulkanFinding(survey, webgpu, request.kind === 'webgpu')
    ]
  }
}

function hasCard({ card, driver }: Survey): boolean {
  return driver !== null || card === true
}

function deviceFinding(
  requested: string,
  opened: DiagnosisInput['opened'],
  fallback: boolean,
  obstacle: Obstacle | null
): Finding {
  const subject = 'device'
  const hint = obstacle?.command ?? null
  if ('error' in opened) return { subject, status: 'error', detail: opened.error.message, hint }
  const detail = `models run on ${opened.id} (setting: ${requested})`
  if (!fallback) return { subject, status: 'ok', detail, hint: null }
  return {
    subject,
    status: 'error',
    detail: `${detail}; the NVIDIA GPU is not used: ${obstacle?.reason ?? 'it failed'}`,
    hint
  }
}

function driverFinding({ driver, card }: Survey, obstacle: Obstacle | null, wanted: boolean): Finding {
  const subject = 'NVIDIA driver'
  if (driver === null) {
    const detail = card === true ? 'NVIDIA GPU without a driver' : 'no NVIDIA GPU found'
    return { subject, status: wanted ? 'error' : 'absent', detail, hint: wanted ? (obstacle?.command ?? null) : null }
  }
  const gpus = driver.gpus.map(({ index, model, memoryMb, freeMb }) => {
    const free = freeMb === null ? '' : `, ${freeMb} MB free`
    return `cuda:${index} ${model} ${memoryMb} MB${free}`
  })
  const list = gpus.length === 0 ? 'GPUs unknown, because nvidia-smi is missing or fails' : gpus.join('; ')
  return { subject, status: 'ok', detail: `${driver.version}: ${list}`, hint: null }
}

function providerFinding({ provider, libraryDirectory }: Survey, wanted: boolean): Finding {
  const subject = 'CUDA provider'
  if (provider === null) {
    const detail = `not in ${libraryDirectory}, nor next to ONNX Runtime`
    return { subject, status: wanted ? 'error' : 'absent', detail, hint: wanted ? 'svc gpu install' : null }
  }
  return { subject, status: 'ok', detail: `${provider.path} (${provider.form})`, hint: null }
}

function libraryFindings({ provider }: Survey, obstacle: Obstacle | null, wanted: boolean): Finding[] {
  return (provider?.needs ?? []).map(({ name, found }) => {
    if (found === null) {
      const hint = wanted ? (obstacle?.command ?? null) : null
      return { subject: name, status: wanted ? 'error' : 'warning', detail: 'missing', hint }
    }
    const version = found.version === '' ? '' : `, version ${found.version}`
    return { subject: name, status: 'ok', detail: `${found.path}${version}`, hint: null }
  })
}

function vulkanFinding({ vulkan }: Survey, obstacle: Obstacle | null, wanted: boolean): Finding {
  const subject = 'Vulkan, for webgpu'
  if (obstacle !== null) {
    const hint = wanted ? obstacle.command : null
    return { subject, status: wanted ? 'error' : 'absent', detail: obstacle.reason, hint }
  }
  const loader = vulkan.loader === null ? '' : `${vulkan.loader.path}; `
  return { subject, status: 'ok', detail: `${loader}${vulkan.drivers.join(', ') || 'not needed here'}`, hint: null }
}
