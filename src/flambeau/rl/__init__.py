"""Reinforcement learning with environments, agents and buffers on the device."""

from .buffers import PrioritizedReplayBuffer, ReplayBuffer
from .classic import Acrobot, CartPole, FrozenLake, MountainCar, Pendulum
from .dqn import DQN
from .environment import Box, Discrete, Environment, EnvironmentStep
from .gymnasium import GymnasiumEnvironment
from .networks import AgentMLP
from .off_policy import LearningProgress
from .ppo import PPO, Iteration, IterationTensors
from .returns import generalized_advantages
from .sac import SAC
from .training import train
from .walker import Walker

__all__ = [
    "DQN",
    "PPO",
    "SAC",
    "Acrobot",
    "AgentMLP",
    "Box",
    "CartPole",
    "Discrete",
    "Environment",
    "EnvironmentStep",
    "FrozenLake",
    "GymnasiumEnvironment",
    "Iteration",
    "IterationTensors",
    "LearningProgress",
    "MountainCar",
    "Pendulum",
    "PrioritizedReplayBuffer",
    "ReplayBuffer",
    "Walker",
    "generalized_advantages",
    "train",
]
