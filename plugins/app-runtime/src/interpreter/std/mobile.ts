import { type Native, native } from '../native.ts'
import { error } from '../value.ts'

/** Parameter counts of the mobile device functions. In a mobile browser, the emitted bridge implements them. */
const DEVICE_FUNCTIONS: Readonly<Record<string, number>> = {
  notify: 2,
  vibrate: 0,
  take_photo: 0,
  take_photo_from_gallery: 0,
  get_location: 0,
  accelerometer: 0,
  transcribe_microphone: 0,
  read_contacts: 0,
  read_clipboard: 0,
  biometric_auth: 1,
  share_text: 1,
  store_file: 2,
  read_file: 1,
  copy_to_clipboard: 1,
  'push.register': 0,
  'push.on_message': 1
}

const absent = Object.entries(DEVICE_FUNCTIONS).map(([name, count]) => {
  const answer = native(count, count, () => error(`${name} needs a mobile device, and this program runs on a computer`))
  return [`std.mobile.${name}`, answer] as const
})

export const MOBILE: Readonly<Record<string, Native>> = {
  ...Object.fromEntries(absent),
  'std.mobile.platform': native(0, 0, () => process.platform),
  'std.mobile.has_camera': native(0, 0, () => false)
}
