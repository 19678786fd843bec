# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# The shipped template's provisioner, on a tree instead of a machine of Azure: what differs is who makes the machine.

variable "key" {
  type = string
}

variable "playbook" {
  type = string
}

variable "agent" {
  type = string
}

source "null" "image" {
  ssh_host             = "builder"
  ssh_port             = 2222
  ssh_username         = "root"
  ssh_private_key_file = var.key
}

build {
  sources = ["source.null.image"]

  provisioner "ansible" {
    playbook_file = var.playbook
    use_proxy     = false
    extra_arguments = [
      "--ssh-common-args", "-o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no",
      "--extra-vars", "ansible_python_interpreter=/usr/bin/python3",
      "--extra-vars", "handler_agent_service_state=stopped",
      "--extra-vars", "@${var.agent}",
    ]
  }

  # Last, as with waagent in Azure.
  provisioner "shell" {
    inline = ["rm -f /etc/ssh/ssh_host_*_key*", ": >/etc/machine-id", "rm -rf /root/.ansible"]
  }
}
