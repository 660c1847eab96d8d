import { t } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'
import type { AdvertisedCapabilities } from './host-probe.ts'

const advertised = (device: string, variable: string) =>
  t.boolean({
    default: false,
    description: `Whether agents on this host have ${device}. No driver is queried.`,
    'x-env': `SVC_MESH_ADVERTISE_${variable}`,
    'x-env-type': 'truthy'
  })

/** Settings for the resources of this host. */
export const hostSettings = {
  host_advertise_gpu: advertised('a GPU with CUDA', 'GPU'),
  host_advertise_vulkan: advertised('a GPU with Vulkan', 'VULKAN'),
  host_advertise_webgpu: advertised('a GPU with WebGPU', 'WEBGPU'),
  host_advertise_npu: advertised('a neural processor', 'NPU'),
  host_device_class: t.optional(
    t.string({
      minLength: 1,
      description: 'Class of this host, for example `desktop`, unless the capabilities of agents name one.',
      'x-env': 'SVC_MESH_DEVICE_CLASS'
    })
  )
}

export type HostSettings = Pick<
  Settings,
  'host_advertise_gpu' | 'host_advertise_vulkan' | 'host_advertise_webgpu' | 'host_advertise_npu' | 'host_device_class'
>

export function advertisedOf(settings: HostSettings): AdvertisedCapabilities {
  return {
    gpu: settings.host_advertise_gpu,
    vulkan: settings.host_advertise_vulkan,
    webgpu: settings.host_advertise_webgpu,
    npu: settings.host_advertise_npu,
    device_class: settings.host_device_class
  }
}
